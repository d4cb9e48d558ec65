import { describe, expect, test } from "vitest";
import { textWithField, textWithFields } from "../../../src/workflows/rows/row.ts";

describe("a field that a row gets", () => {
  test.each([
    ['{"a":1}', '{"a":1,"answer":"yes"}'],
    ["{}", '{"answer":"yes"}'],
    [' { "a": [1, 2] } ', '{ "a": [1, 2],"answer":"yes"}'],
  ])("stands behind those of %s", (row, expected) => {
    expect(textWithField(row, "answer", '"yes"').trim()).toBe(expected);
  });

  test("replaces one of its name, and no deeper one", () => {
    const row = '{"answer":"no","deep":{"answer":"kept"}}';
    expect(JSON.parse(textWithField(row, "answer", '"yes"'))).toEqual({
      answer: "yes",
      deep: { answer: "kept" },
    });
  });

  test.each(['{"a":1}', '{"a":1,"first":"old"}', '{"__proto__":{"a":1}}'])(
    "stands beside others in %s",
    (row) => {
      const added = new Map([
        ["first", "1"],
        ["second", '"two"'],
      ]);
      const expected = JSON.stringify({ ...JSON.parse(row), first: 1, second: "two" });
      expect(JSON.parse(textWithFields(row, added))).toEqual(JSON.parse(expected));
      expect(textWithFields(row, new Map())).toBe(row);
    },
  );

  test("keeps the other fields as their text says, without a look into them", () => {
    expect(textWithField('{"n":1.50,"broken":}', "answer", "1")).toBe(
      '{"n":1.50,"broken":,"answer":1}',
    );
  });
});
