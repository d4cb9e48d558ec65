import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { realPauses } from "../../../src/workflows/execute/retry-pause.ts";
import { RowLoop } from "../../../src/workflows/execute/row-loop.ts";
import { RowProgress } from "../../../src/workflows/execute/row-progress.ts";
import { packLines } from "../../../src/workflows/rows/pack-rows.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { insertChunks } from "../../../src/workflows/rows/row-store.ts";
import { StepFailure } from "../../../src/workflows/runs/run.ts";
import { defineStepKind, type RowWork } from "../../../src/workflows/steps/step-kind.ts";
import {
  type ExecutionStage,
  openExecutionStage,
  type StepText,
} from "../../support/workflows/execution-stage.ts";
import { rowOf } from "../../support/workflows/row-of.ts";
import { runStep } from "../../support/workflows/step-stage.ts";

/** What the tests' kind does with a row. */
let rowWork: RowWork["work"];
let prepare: RowWork["prepare"];
let concurrency = 4;
const scripted = defineStepKind({
  ...{ kind: "scripted", group: "transform", label: "", help: "", example: {} },
  schema: z.strictObject({}),
  async run({ eachRow, addUsage }) {
    await eachRow({
      concurrency,
      ...(prepare !== undefined && { prepare }),
      work: (item) => {
        addUsage({ calls: 1 });
        return rowWork(item);
      },
    });
    return undefined;
  },
});

let stage: ExecutionStage;
beforeAll(async () => {
  stage = await openExecutionStage({ kinds: [scripted] });
});
afterAll(() => stage.close());
beforeEach(() => {
  prepare = undefined;
  concurrency = 4;
  stage.ledger.length = 0;
  stage.paused.length = 0;
});

const rowsTo = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ n: index + 1 }));
const step = (more: Partial<StepText> = {}): StepText => ({ id: "s", kind: "scripted", ...more });
const accept = (count: number, more: Partial<StepText> = {}) =>
  stage.accept([step(more)], { rows: rowsTo(count) });
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("rows one by one", () => {
  test("outputs are in the order of the inputs, whichever row ends first, and a row may become several or none", async () => {
    rowWork = async ({ number }) => {
      await wait(number % 3 === 0 ? 3 : 0);
      return Array.from({ length: number % 3 }, (_, index) => ({ number, index }));
    };
    const run = await accept(50);
    await stage.work(run);
    const expected = rowsTo(50).flatMap(({ n }) =>
      Array.from({ length: Number(n) % 3 }, (_, index) => ({ number: n, index })),
    );
    expect(await stage.rows(run, "s")).toEqual(expected);
    expect((await stage.steps(run))["s"]).toMatchObject({ usage: { calls: 50 }, rowsIn: 50 });
  });

  test("at most `concurrency` rows are worked on at once", async () => {
    let open = 0;
    let most = 0;
    rowWork = async ({ row }) => {
      open += 1;
      most = Math.max(most, open);
      await wait(1);
      open -= 1;
      return [row];
    };
    await stage.work(await accept(40));
    expect(most).toBe(4);
  });

  test("`prepare` is called for each chunk, and its faults are the rows' errors", async () => {
    const sizes: number[] = [];
    prepare = async (rows) => {
      sizes.push(rows.length);
      return rows.map((row) => {
        const { n } = rowOf(row);
        if (n === 2) return { error: { code: "no_text", message: "There is no text." } };
        return { text: `row ${n}` };
      });
    };
    rowWork = async ({ prepared }) => [prepared as Row];
    const run = await accept(1_500, { on_row_error: "route" });
    await stage.work(run);
    expect(sizes).toEqual([1_000, 500]);
    const made = await stage.rows(run, "s");
    expect([made.length, made.at(-1)]).toEqual([1_499, { text: "row 1500" }]);
    expect(await stage.rows(run, "s", "errors")).toEqual([
      { n: 2, _error: { row: 2, code: "no_text", message: "There is no text." } },
    ]);
  });

  test("a retryable failure of a row is repeated with backoff and counted; the last one is the row's error", async () => {
    const tries = new Map<number, number>();
    rowWork = async ({ row, number }) => {
      const done = (tries.get(number) ?? 0) + 1;
      tries.set(number, done);
      if (number === 1 && done <= 2) throw new StepFailure("busy", "busy", { isRetryable: true });
      if (number === 2) throw new StepFailure("busy", "busy", { isRetryable: true });
      return [row];
    };
    const run = await accept(3, { on_row_error: "skip" });
    await stage.work(run);
    expect([...tries.entries()]).toEqual([
      [1, 3],
      [2, 3],
      [3, 1],
    ]);
    expect([...stage.paused].sort()).toEqual([2_000, 2_000, 4_000, 4_000]);
    expect(await stage.rows(run, "s")).toEqual([{ n: 1 }, { n: 3 }]);
    expect((await stage.steps(run))["s"]).toMatchObject({ rowErrors: 1, rowsOut: 2 });
    expect((await stage.record(run)).retries).toBe(4);
  });

  test("`fail`: the first failed row fails the step by its number, and the others are aborted", async () => {
    let aborted = 0;
    rowWork = async ({ number, signal }) => {
      if (number === 3) throw new StepFailure("bad_row", "The row is bad.");
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      aborted += 1;
      throw signal.reason;
    };
    const run = await accept(10);
    expect(await stage.work(run)).toMatchObject({
      end: { error: { step: "s", row: 3, code: "bad_row", message: "The row is bad." } },
    });
    expect(aborted).toBeGreaterThanOrEqual(2);
    expect(await stage.stored(run)).toEqual(["$trigger.main"]);
  });

  test("a fault of the gateway in one row fails the step", async () => {
    rowWork = async () => {
      throw new TypeError("oops");
    };
    const run = await accept(3, { on_row_error: "skip" });
    expect(await stage.work(run)).toMatchObject({ end: { error: { code: "internal_error" } } });
  });

  test("a row whose results are too large is that row's error", async () => {
    const text = "x".repeat(1_000_000);
    rowWork = async ({ number }) =>
      number === 2 ? Array.from({ length: 9 }, () => ({ text })) : [{ number }];
    const run = await accept(3, { on_row_error: "skip" });
    await stage.work(run);
    expect(await stage.rows(run, "s")).toEqual([{ number: 1 }, { number: 3 }]);
    expect((await stage.steps(run))["s"]).toMatchObject({ rowErrors: 1 });
  });

  test("one result that is too large to be a row is that row's error", async () => {
    const text = "x".repeat(600_000);
    rowWork = async ({ row, number }) =>
      number === 2 ? [{ ...rowOf(row), text, more: text }] : [row];
    const run = await accept(3, { on_row_error: "skip" });
    expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
    expect(await stage.rows(run, "s")).toEqual([{ n: 1 }, { n: 3 }]);
    expect((await stage.steps(run))["s"]).toMatchObject({ rowErrors: 1, rowsOut: 2 });
    const failing = await accept(3);
    expect(await stage.work(failing)).toMatchObject({
      end: { error: { step: "s", row: 2, code: "row_too_large" } },
    });
  });

  test("a row that is too large with its error is routed as the error alone", async () => {
    const text = "x".repeat(1024 * 1024 - 20);
    rowWork = async ({ row }) => [{ ...rowOf(row), answer: `${text}${text}` }];
    const run = await stage.accept([step({ on_row_error: "route" })], {
      rows: [{ text }, { n: 2 }],
    });
    expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
    const routed = await stage.rows(run, "s", "errors");
    expect(routed).toMatchObject([
      { _error: { row: 1, code: "row_too_large" } },
      { n: 2, _error: { row: 2, code: "row_too_large" } },
    ]);
    expect(Object.keys(routed[0] ?? {})).toEqual(["_error"]);
  });

  test("rows far ahead of a slow one wait: what is in memory is bounded by the window", async () => {
    let last = 0;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    rowWork = async ({ number, row }) => {
      last = Math.max(last, number);
      if (number === 1) await released;
      return [row];
    };
    const run = await accept(5_000);
    const worked = stage.work(run);
    await vi.waitFor(() => expect(last).toBe(1_000), 10_000);
    await wait(20);
    expect(last).toBe(1_000);
    release();
    expect(await worked).toMatchObject({ end: { status: "completed" } });
    expect(await stage.rows(run, "s")).toEqual(rowsTo(5_000));
  });

  test("large rows wait, however many rows may be worked on at once", async () => {
    const row = JSON.stringify({ text: "x".repeat(1_000_000) });
    const chunk = await packLines([row]);
    let [open, most] = [0, 0];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const loop = new RowLoop({
      work: {
        concurrency: 50,
        async work() {
          open += 1;
          most = Math.max(most, open);
          if (open === 33) release();
          await released;
          open -= 1;
          return [];
        },
      },
      inputs: [
        {
          ...{ name: "a", rows: 50, bytes: 50 * row.length },
          chunks: async function* () {
            for (let index = 0; index < 50; index += 1) yield chunk;
          },
        },
      ],
      ...{ keyPrefix: "run:s", retries: 0, failsFast: false, pauses: realPauses, done: 0 },
      ...{ left: [], signal: AbortSignal.timeout(30_000) },
      write: async () => undefined,
      save: async () => undefined,
    });
    await loop.run();
    // 32 Mi characters.
    expect(most).toBe(33);
  });

  test("the stage for authors of steps behaves as the engine", async () => {
    rowWork = async ({ row, number }) => {
      if (number % 4 === 0) throw new StepFailure("fourth", "Each fourth fails.");
      return number % 3 === 0 ? [] : [row, { number }];
    };
    for (const onRowError of ["skip", "route"] as const) {
      const run = await accept(20, { on_row_error: onRowError });
      await stage.work(run);
      const staged = await runStep(scripted, { rows: rowsTo(20), onRowError });
      expect(staged.outputs.main).toEqual(await stage.rows(run, "s"));
      expect(staged.outputs["errors"] ?? []).toEqual(await stage.rows(run, "s", "errors"));
      expect(staged.rowErrors).toBe((await stage.steps(run))["s"]?.rowErrors);
    }
  });
});

describe("a resumed step does only the rows that were not stored", () => {
  test("finished rows, failed ones included, are not done again; keys stay the same", async () => {
    const keys = new Map<number, Set<string>>();
    const done = new Map<number, number>();
    let isFirst = true;
    rowWork = async ({ number, idempotencyKey, row }) => {
      keys.set(number, (keys.get(number) ?? new Set()).add(idempotencyKey));
      // One row holds the outputs up while hundreds finish behind it.
      if (isFirst && number === 5) await wait(1_500);
      await wait(1);
      done.set(number, (done.get(number) ?? 0) + 1);
      if (number % 10 === 0) throw new StepFailure("tenth", "Each tenth fails.");
      const made = { ...rowOf(row), number };
      // Some are texts, as long ones are.
      return [number % 2 === 0 ? JSON.stringify(made) : made];
    };
    const run = await accept(900, { on_row_error: "route" });
    // The steps, the beginning of the try, and a save after a second; the next one is lost with the claim.
    expect(await stage.work(run, { killAt: 4 })).toEqual({ kind: "killed" });
    const stored = new Set(await storedNumbers(run));
    expect(stored.size).toBeGreaterThan(100);
    expect(stored.has(5)).toBe(false);
    isFirst = false;
    const before = new Map(done);
    expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
    for (const [number, times] of done) {
      const again = times - (before.get(number) ?? 0);
      expect([number, again]).toEqual([number, stored.has(number) ? 0 : 1]);
      expect(keys.get(number)).toEqual(new Set([`${run.id}:s:${number}`]));
    }
    const good = rowsTo(900).filter(({ n }) => Number(n) % 10 !== 0);
    expect(await stage.rows(run, "s")).toEqual(good.map(({ n }) => ({ n, number: n })));
    const routed = await stage.rows(run, "s", "errors");
    expect(routed.map(({ n }) => n)).toEqual(
      Array.from({ length: 90 }, (_, index) => 10 * (index + 1)),
    );
    const { s } = await stage.steps(run);
    expect(s).toMatchObject({ rowErrors: 90, rowsOut: 810, attempts: 2 });
    expect(await stage.stored(run)).toEqual(["$trigger.main", "s.errors", "s.main"]);
  }, 20_000);

  test("a server that stops stores what has finished before it hands the run over", async () => {
    const server = new AbortController();
    const done: number[] = [];
    rowWork = async ({ number, row, signal }) => {
      if (number > 20) {
        if (done.length === 20) server.abort();
        await new Promise((_, reject) => {
          if (signal.aborted) reject(signal.reason);
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      }
      done.push(number);
      return [row];
    };
    const run = await accept(100);
    await expect(stage.work(run, { server: server.signal })).rejects.toThrow("abort");
    expect((await stage.steps(run))["s"]).toMatchObject({ status: "running", rowsOut: 20 });
    rowWork = async ({ number, row }) => {
      done.push(number);
      return [row];
    };
    expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
    expect(done).toHaveLength(100);
    expect(await stage.rows(run, "s")).toEqual(rowsTo(100));
  });

  test("killed at each save in turn, every row is in the outputs once", async () => {
    concurrency = 32;
    const big = "x".repeat(20_000);
    rowWork = async ({ number, row }) => {
      await wait(number % 7);
      return [{ ...rowOf(row), big }];
    };
    // Unsaved results beyond 4 MiB are stored at once, so that there are many saves.
    const run = await accept(1_000);
    let killed = 0;
    for (let killAt = 3; ; killAt = 3 + (killed % 3)) {
      const worked = await stage.work(run, { killAt });
      if (worked.kind === "ended") break;
      killed += 1;
      if (killed > 40) throw new Error("the run makes no progress");
    }
    expect(killed).toBeGreaterThan(1);
    expect((await stage.rows(run, "s")).map(({ n }) => n)).toEqual(rowsTo(1_000).map(({ n }) => n));
  }, 20_000);

  test("what an earlier try left behind an unfinished row is taken up, however large it is", async () => {
    const chunk = await packLines(rowsTo(40).map((row) => JSON.stringify(row)));
    const big = JSON.stringify({ text: "x".repeat(1_000_000) });
    const written: number[] = [];
    const loop = new RowLoop({
      work: { concurrency: 4, work: async () => [] },
      inputs: [
        {
          name: "a",
          rows: 40,
          bytes: 0,
          chunks: async function* () {
            yield chunk;
          },
        },
      ],
      ...{ keyPrefix: "run:s", retries: 0, failsFast: false, pauses: realPauses, done: 0 },
      signal: AbortSignal.timeout(10_000),
      left: Array.from({ length: 19 }, (_, index) => ({ number: index + 2, rows: [big] })),
      write: async ({ number }) => void written.push(number),
      save: async () => undefined,
    });
    await loop.run();
    expect(written).toEqual(rowsTo(40).map(({ n }) => n));
  });

  test("what an earlier release has stored as objects is taken up", async () => {
    const run = await accept(3);
    const place = { day: run.day, runId: run.id, stepId: "s", output: "$progress" };
    const state = { done: 0, rowErrors: 0, outputs: [] };
    const outcomes = [
      { number: 2, rows: [{ n: "before" }] },
      { number: 3, error: { code: "x", message: "before" } },
    ];
    const chunk = await packLines([state, ...outcomes].map((line) => JSON.stringify(line)));
    await insertChunks(stage.database.db, place, [chunk], 0);
    const { left } = await RowProgress.read(stage.database.db, place);
    expect(left).toEqual([{ number: 2, rows: ['{"n":"before"}'] }, outcomes[1]]);
  });

  async function storedNumbers(run: Parameters<ExecutionStage["rows"]>[0]): Promise<number[]> {
    const place = { day: run.day, runId: run.id, stepId: "s" };
    const { state, left } = await RowProgress.read(stage.database.db, place);
    return [...rowsTo(state.done).map(({ n }) => Number(n)), ...left.map(({ number }) => number)];
  }
});
