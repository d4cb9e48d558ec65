import { afterEach, describe, expect, test, vi } from "vitest";
import type { JsonValue } from "../../../src/lib/json/json.ts";
import {
  compileExpression,
  namesOf,
} from "../../../src/workflows/row-process/expressions/expression.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";

const names = (row: Row = {}) => namesOf({ trigger: {}, run: {} }, row);

function evaluated(expression: string, row: Row = {}): JsonValue {
  return compileExpression(expression)(names(row));
}

describe("round", () => {
  test.each([
    ["round(0.1 + 0.2 - 0.3, 2)", 0],
    ["round(0.30000000000000004 - 0.3, 2)", 0],
    ["round(0.3 - 0.30000000000000004, 2)", 0],
    ["round(1e-7, 2)", 0],
    ["round(4e-7, 6)", 0],
    ["round(5e-7, 6)", 1e-6],
    ["round(6e-7, 6)", 1e-6],
    ["round(-6e-7, 6)", -1e-6],
    ["round(1.25e-7, 8)", 1.3e-7],
    ["round(2.345, 2)", 2.35],
    ["round(-2.345, 2)", -2.35],
    ["round(-2.5)", -3],
    ["round(-0.4)", 0],
    ["round(123456.789, 15)", 123456.789],
    ["round(1e21)", 1e21],
    ["round(1e21, 2)", 1e21],
    ["round(-1.5e300, 15)", -1.5e300],
    ["round(9007199254740991.0, 15)", 9_007_199_254_740_991],
  ])("%s is %d, and no zero is negative", (expression, rounded) => {
    expect(evaluated(expression)).toBe(rounded);
  });
});

describe("what is absent is null", () => {
  const row = {
    number: 5,
    text: "abc",
    yes: true,
    list: [1, { b: 2 }],
    object: { b: 3 },
    no: null,
  };

  test.each([
    ["row.number.b", null],
    ["row.number.b.c", null],
    ["row.number['b']", null],
    ["row.text.b", null],
    ["row.text.length", null],
    ["row.text[0]", null],
    ["row.yes.b", null],
    ["row.no.b.c", null],
    ["row.none.b.c", null],
    ["row.list.b", null],
    ["row.list[7].b", null],
    ["row.list.map(x, x.b)", [null, 2]],
    ["row.object.constructor", null],
    ["json('5').b", null],
    ["row.number.b == null", true],
    ["has(row.number.b)", false],
    ["has(row.number.b.c)", false],
    ["row.object.b", 3],
  ])("%s is %j", (expression, value) => {
    expect(evaluated(expression, row)).toEqual(value);
  });
});

describe("date of a text", () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    ["2026-11-23", "2026-11-23"],
    ["2026-11-23 03:00", "2026-11-23"],
    ["2026-11-23T23:30:00", "2026-11-23"],
    ["2026-11-23T23:30:00-05:00", "2026-11-24"],
  ])("%s is %s wherever the server stands", (text, day) => {
    for (const place of ["Pacific/Auckland", "America/Los_Angeles"]) {
      vi.stubEnv("TZ", place);
      expect(evaluated("date(row.text)", { text })).toBe(day);
    }
  });

  test.each(["2026-02-31", "2026-13-01", "11/23/2026", "November 23, 2026", "x", ""])(
    "%j is the fault of its row",
    (text) => {
      expect(() => evaluated("date(row.text)", { text })).toThrow("This is no time.");
    },
  );
});

test.each([
  ["42", 42],
  ["-0042", -42],
  ["9007199254740993", "9007199254740993"],
  [-2.9, -2],
  [2, 2],
])("int() of %j is %j", (value, expected) => {
  expect(evaluated("int(row.value)", { value })).toBe(expected);
});

test.each(["", " 42", "42.0", "0b11", "9223372036854775808"])(
  "int() of %j is the fault of its row",
  (value) => {
    expect(() => evaluated("int(row.value)", { value })).toThrow("no whole number of 64 bits");
  },
);

test("int() of what is no text or number is named as it was written", () => {
  expect(() => evaluated("int([1])", {})).toThrow(/'int\(list/);
  expect(() => evaluated("int(row.value)", {})).toThrow(/'int\(null\)'/);
});

test("json() keeps the digits of integers beyond 2^53, as rows do", () => {
  const text = '{"id": 9007199254740993, "list": [-12345678901234567890, 1.5], "small": 7}';
  expect(evaluated("json(row.text)", { text })).toEqual({
    ...{ id: "9007199254740993", list: ["-12345678901234567890", 1.5], small: 7 },
  });
  expect(() => evaluated("json(row.text)", { text: "{" })).toThrow("no JSON");
});

describe("patterns", () => {
  test.each([
    ["(?i)^\\p{Lu}+$", "aBc", true],
    ["(?i)^\\p{Ll}+$", "ABC", true],
    ["(?i)^\\p{Lu}+$", "a1", false],
    ["(?i)^\\P{Lu}+$", "12-", true],
    ["(?i)^\\P{Lu}+$", "12a", false],
    ["(?i)^[\\p{Lu}\\d]+$", "Ab1", true],
    ["(?i)^\\p{L}+ ÄB$", "Groß äb", true],
    ["(?i)^\\p{Script=Greek}+$", "ΩΔ", true],
    ["(?i)σ$", "ΟΔΟΣ", true],
    ["(?i)^ΟΔΟΣ$", "οδος", true],
    ["(?i)^[α-ω]+$", "ΟΔΟΣ", true],
    ["(?i)^.stanbul$", "İSTANBUL", true],
    ["^\\p{Lu}+$", "aB", false],
    ["(?i)^\\x41\\u0042\\u{C4}$", "abä", true],
    ["(?i)^\\x41\\u0042\\u{C4}$", "ABÄ", true],
    ["(?i)^\\\\x41$", "\\X41", true],
    ["(?i)^\\Ä\\D$", "äx", true],
    ["(?i)^[\\x41-\\x43]+$", "abCc", true],
    ["^[\\u00e0-\\u00ff]+$", "äöü", true],
    ["^[\\x41-\\x43]+$", "ABC", true],
    ["^[\\x41-\\x43]+$", "A-C", false],
    ["^[+-\\x2f]+$", "+-./", true],
  ])("%s on %j: %s", (pattern, text, matches) => {
    expect(evaluated("row.text.matches(row.pattern)", { pattern, text })).toBe(matches);
  });

  test.each([
    ["(?i)\\p{Nope}", "property"],
    ["[a-\\d]", "a range"],
    ["(?i)\\x4", "without its digits"],
  ])("%s is refused", (pattern, message) => {
    const match = () => evaluated("row.text.matches(row.pattern)", { pattern, text: "a" });
    expect(match).toThrow(message);
  });
});
