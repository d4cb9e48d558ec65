import { describe, expect, test } from "vitest";
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
