import { describe, expect, it } from "vitest";
import {
  keepLargeNumbers,
  parseExactJson,
  writeLargeNumbers,
} from "../../../src/lib/json/exact-json.ts";

const LARGE = "9007199254740993";

describe("JSON whose numbers would be rounded", () => {
  it.each([
    [`{"a":${LARGE}}`, { a: LARGE }],
    [
      `[-${LARGE}, 1e400, 1.5, ${"9".repeat(15)}]`,
      [`-${LARGE}`, "1e400", 1.5, 999_999_999_999_999],
    ],
    [`{"${LARGE}":"${LARGE}","b":[${LARGE}]}`, { [LARGE]: LARGE, b: [LARGE] }],
    [
      `["\\"${LARGE}","\\\\",${LARGE},"x\\\\\\"${LARGE}"]`,
      [`"${LARGE}`, "\\", LARGE, `x\\"${LARGE}`],
    ],
    [`["",${LARGE}]`, ["", LARGE]],
    [LARGE, LARGE],
  ])("keeps their digits as texts, and texts as they are: %s", (text, value) => {
    expect(parseExactJson(text)).toEqual(value);
  });

  it.each([`{${LARGE}:1}`, `{"a":"${LARGE}`, `[${LARGE}`, `"${LARGE}" x`])(
    "stays none where it is none: %s",
    (text) => {
      expect(() => JSON.parse(text)).toThrow();
      expect(() => parseExactJson(text)).toThrow(SyntaxError);
    },
  );

  it("is written without spaces and with the shortest escapes", () => {
    const text = `{ "a b" : ${LARGE} , "\\u0041\\/" : [ "\\n" ] }`;
    expect(writeLargeNumbers(text)).toBe(`{"a b":${LARGE},"A/":["\\n"]}`);
    expect(writeLargeNumbers('{ "a": 1 }')).toBeUndefined();
  });

  it("is read in one pass, also strings of escapes and those without an end", () => {
    // Read anew from each quote, these take minutes.
    const marks = '\\"'.repeat(2_000_000);
    const unended = `{"id":${LARGE},"t":"${marks}`;
    expect(keepLargeNumbers(unended)).toBe(`{"id":"${LARGE}","t":"${marks}`);
    const { t } = parseExactJson(`${unended}"}`) as { t: string };
    expect(t).toHaveLength(2_000_000);
  });
});
