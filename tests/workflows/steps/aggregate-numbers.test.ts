import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/lib/json/json.ts";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import { aggregateStep } from "../../../src/workflows/steps/aggregate.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const rowProcess = openRowProcess({ processes: 1 });
const step = aggregateStep({ rowProcess });
afterAll(() => rowProcess.close());

const OPERATIONS = ["sum", "avg", "min", "max"];

/** The results over rows that have these values. */
async function over(given: readonly JsonValue[], operations = OPERATIONS) {
  const values = Object.fromEntries(operations.map((op) => [op, { op, field: "v" }]));
  const rows = given.map((v) => ({ v }));
  const { outputs } = await runStep(step, { settings: { values }, rows });
  return outputs.main[0];
}

describe("sum", () => {
  test.each<[readonly JsonValue[], JsonValue]>([
    [["0.10", "0.20"], "0.30"],
    [["9007199254740993", "9007199254740993"], "18014398509481986"],
    [["-0.05", "0.020"], "-0.030"],
    [["1e3", "25e-2"], "1000.25"],
    [["9.99", null, 0.01], "10.00"],
    [[0.1, 0.2, "9007199254740993"], "9007199254740993.3"],
    [[1e21, "1"], "1000000000000000000001"],
    [[1, 2, null], 3],
    [[9_007_199_254_740_990, 1], 9_007_199_254_740_991],
    [[9_007_199_254_740_991, 1], "9007199254740992"],
    [[9_007_199_254_740_991, 2], "9007199254740993"],
    [[-9_007_199_254_740_991, -2], "-9007199254740993"],
    [[9_007_199_254_740_991, 0.5], "9007199254740991.5"],
    [[1e308, 1e308], `2${"0".repeat(308)}`],
    [[0.5, 0.25], 0.75],
    [[1e300, 5e-324], 1e300],
    [[null], null],
  ])("of %j is %j", async (values, sum) => {
    expect((await over(values, ["sum"]))?.["sum"]).toBe(sum);
  });

  test("is exact over many cents, and avg is a number", async () => {
    const made = await over(Array.from({ length: 3_000 }, () => "0.01"));
    expect(made).toEqual({ sum: "30.00", avg: 0.01, min: "0.01", max: "0.01" });
  });

  test("takes texts of a thousand digits, but no longer ones", async () => {
    const longest = "1".repeat(1_000);
    expect(await over([longest, "1"], ["sum"])).toEqual({ sum: `${longest.slice(1)}2` });
    const values = over(["1", `${longest}1`], ["sum"]);
    await expect(values).rejects.toMatchObject({ code: "number_too_long", row: 2 });
  });

  test.each([
    ["1e1000", "not_a_number"],
    ["9,50", "not_a_number"],
    ["", "not_a_number"],
    [true, "not_a_number"],
  ])("does not take %j", async (value, code) => {
    await expect(over(["1", value], ["sum"])).rejects.toMatchObject({ code, row: 2 });
  });
});

test.each(["skip", "route"] as const)(
  "a row that %s leaves out counts in no value",
  async (mode) => {
    const values = {
      orders: { op: "count" },
      revenue: { op: "sum", field: "total" },
      late: { op: "count" },
    };
    const rows = [
      { c: "DE", total: 10 },
      { c: "DE", total: "n/a" },
      { c: "FR", total: "?" },
    ];
    const made = await runStep(step, { settings: { by: ["c"], values }, rows, onRowError: mode });
    expect(made.outputs.main).toEqual([{ c: "DE", orders: 1, revenue: 10, late: 1 }]);
  },
);

describe("min and max", () => {
  test.each<[readonly JsonValue[], JsonValue, JsonValue]>([
    [["9.50", "10.25", "100"], "9.50", "100"],
    [["9007199254740993", "9007199254740992"], "9007199254740992", "9007199254740993"],
    [["-2", "-10", 1], "-10", 1],
    [[10, "9.5", null, 2], 2, 10],
    [["1.0", "1.00", 1], "1.0", "1.0"],
    [["2e3", "300"], "300", "2e3"],
    [["10", "9", "x"], "10", "x"],
    [["x", "9", "10"], "10", "x"],
    [[10, "9", true], true, "9"],
    [[null], null, null],
  ])("of %j are %j and %j", async (values, min, max) => {
    expect(await over(values, ["min", "max"])).toEqual({ min, max });
  });

  test("take a long text, but no long number", async () => {
    const long = "x".repeat(2_000);
    expect(await over([long, "9"], ["max"])).toEqual({ max: long });
    const values = over(["1", "9".repeat(1_001)], ["max"]);
    await expect(values).rejects.toMatchObject({ code: "number_too_long", row: 2 });
  });

  test("of numbers of a thousand digits take little time", async () => {
    const value = `${"9".repeat(990)}e-999`;
    const values = Array.from({ length: 1_000 }, (_, n) => (n % 2 === 0 ? value : "1e999"));
    expect(await over(values, ["min", "max"])).toEqual({ min: value, max: "1e999" });
  });
});
