import { afterAll, describe, expect, test } from "vitest";
import { openRowProcess } from "../../../src/workflows/row-process/open-row-process.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { joinStep } from "../../../src/workflows/steps/join.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

const rowProcess = openRowProcess({ processes: 1 });
const step = joinStep({ rowProcess });
afterAll(() => rowProcess.close());

async function joined(left: readonly Row[], right: readonly Row[], settings: Row = {}) {
  const { outputs } = await runStep(step, {
    settings: { with: "right", on: ["id"], ...settings },
    inputs: { left, right },
  });
  return outputs.main;
}

describe("the names of joined fields", () => {
  test("overwrite no field of this side", async () => {
    const left = [{ id: 1, n: "a", right_n: "keep" }];
    expect(await joined(left, [{ id: 1, n: "b" }])).toEqual([
      { id: 1, n: "a", right_n: "keep", right_right_n: "b" },
    ]);
  });

  test("overwrite no field of the other side", async () => {
    const right = [{ id: 1, n: "b", right_n: "c" }];
    expect(await joined([{ id: 1, n: "a" }], right)).toEqual([
      { id: 1, n: "a", right_right_n: "b", right_n: "c" },
    ]);
  });

  test.each(["right", "full"])("are the same in rows without a partner of %s", async (how) => {
    const right = [
      { id: 1, n: "b" },
      { id: 2, n: "c" },
    ];
    expect(await joined([{ id: 1, n: "a" }], right, { how })).toEqual([
      { id: 1, n: "a", right_n: "b" },
      { id: 2, right_n: "c" },
    ]);
  });

  test("are the same in rows of this side that lack the field", async () => {
    const left = [{ id: 1 }, { id: 2 }, { id: 1, n: "a" }];
    expect(await joined(left, [{ id: 1, n: "b" }], { how: "left" })).toEqual([
      { id: 1, right_n: "b" },
      { id: 2, right_n: null },
      { id: 1, n: "a", right_n: "b" },
    ]);
  });

  test("leave the field of `on` alone, also without rows of this side", async () => {
    const settings = { on: { id: "key" }, how: "full" };
    expect(await joined([], [{ key: 1, id: "x" }], settings)).toEqual([{ id: 1, right_id: "x" }]);
  });

  test("are as before where both sides share none", async () => {
    expect(await joined([{ id: 1, n: "a" }], [{ id: 1, m: "b" }])).toEqual([
      { id: 1, n: "a", m: "b" },
    ]);
  });

  test("hold over several chunks, whose rows keep their numbers", async () => {
    const left = Array.from({ length: 2_500 }, (_, id): Row => ({ id }));
    left.push({ id: 1, n: "last" });
    const made = await joined(left, [{ id: 1, n: "b" }], { how: "left" });
    expect(made).toHaveLength(2_501);
    expect([made[0], made[1], made[2_500]]).toEqual([
      { id: 0, right_n: null },
      { id: 1, right_n: "b" },
      { id: 1, n: "last", right_n: "b" },
    ]);
    const large: Row = { id: 1, text: "x".repeat(700_000) };
    const failing = joined(
      [...left.slice(0, 2_000), large],
      [{ ...large, text: "y".repeat(600_000) }],
    );
    await expect(failing).rejects.toMatchObject({ code: "row_too_large", row: 2_001 });
  });
});
