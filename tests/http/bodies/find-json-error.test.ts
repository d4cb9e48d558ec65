import { describe, expect, it } from "vitest";
import { findJsonError } from "../../../src/http/bodies/find-json-error.ts";

describe("The place where a text stops being JSON", () => {
  it.each([
    ["", 1, 1, true],
    ["{", 1, 2, true],
    ['{"model": "m", }', 1, 16, false],
    ['{"model" "m"}', 1, 10, false],
    ["{'model': 1}", 1, 2, false],
    ['{\n  "model": "m"\n  "stream": true\n}', 3, 3, false],
    ['{"a": [1, 2,]}', 1, 13, false],
    ['{"a": 01}', 1, 7, false],
    ['{"a": tru}', 1, 7, false],
    ['{"a": NaN}', 1, 7, false],
    ['{"a": "line\nbreak"}', 1, 12, false],
    ['{"a": "\\x"}', 1, 8, false],
    ['{"a": "open', 1, 12, true],
    ['{"a": 1} x', 1, 10, false],
    ['{"a": 1}}', 1, 9, false],
    ["[}", 1, 2, false],
    ['{"a": [1', 1, 9, true],
  ])("of %j is line %d, column %d", (text, line, column, isEnd) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(findJsonError(text)).toEqual({ line, column, isEnd });
  });

  it.each([
    '{"a": [1, -2.5e+3, "\\u00e9\\n", true, false, null, {}], "b": []}',
    ' "text" ',
    "0",
    "[[], [[]]]",
  ])("is nowhere in %s", (text) => {
    expect(JSON.parse(text)).toBeDefined();
    expect(findJsonError(text)).toBeUndefined();
  });

  it("is told within a million characters, and not searched for beyond them", () => {
    expect(findJsonError(`[${"\n".repeat(1_000_000)}  x`)).toEqual({
      ...{ line: 1_000_001, column: 3, isEnd: false },
    });
    expect(findJsonError(`[${"\n".repeat(32_000_000)}x`)).toBeUndefined();
    expect(findJsonError(`[${"1,".repeat(1_000_000)}x`)).toBeUndefined();
  });

  it("is found wherever a whole text is cut", () => {
    const whole = '{"a": [1, "two", {"three": null}], "b": "\\u00e9"}';
    for (let length = 0; length < whole.length; length += 1) {
      expect(findJsonError(whole.slice(0, length))).toBeDefined();
    }
  });
});
