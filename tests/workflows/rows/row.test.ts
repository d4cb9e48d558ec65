import { describe, expect, test } from "vitest";
import { textWithField } from "../../../src/workflows/rows/row.ts";

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

  test("keeps the other fields as their text says, without a look into them", () => {
    expect(textWithField('{"n":1.50,"broken":}', "answer", "1")).toBe(
      '{"n":1.50,"broken":,"answer":1}',
    );
  });
});
