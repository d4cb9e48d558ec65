import { expect, it } from "vitest";
import { setValue } from "../../../../src/console/lib/json/json-edit.ts";
import { parseJson } from "../../../../src/console/lib/json/json-text.ts";
import { readRows } from "../../../../src/console/pages/workflows/steps/sample-rows.ts";

const valueIn = (text: string) => {
  const parsed = parseJson(text);
  if ("fault" in parsed) throw new Error(parsed.fault.message);
  return parsed.root.value;
};

it("keeps the digits of a number that would be rounded, as the server does", () => {
  const text = "[9007199254740991, 9007199254740993, -9007199254740993, 1e400, 1e20, 0.1, -0]";
  expect(valueIn(text)).toEqual([
    ...[9_007_199_254_740_991, "9007199254740993", "-9007199254740993", "1e400"],
    ...[1e20, 0.1, -0],
  ]);
});

it("sends rows with the digits that were typed", () => {
  const { rows } = readRows('[{"order": 12345678901234567890, "count": 2}]');
  expect(JSON.stringify(rows)).toBe('[{"order":"12345678901234567890","count":2}]');
});

it("leaves a large number in a text as it was written while other fields change", () => {
  const text = '{"order": 12345678901234567890, "count": 2}';
  const value = { ...(valueIn(text) as object), count: 3 };
  expect(setValue(text, [], value)).toBe('{"order": 12345678901234567890, "count": 3}');
});
