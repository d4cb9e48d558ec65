import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { withTransaction } from "../../../src/db/context.ts";
import { workflowRows, workflowRuns } from "../../../src/db/tables/workflows.ts";
import { dropRunRows } from "../../../src/workflows/rows/drop-run-rows.ts";

import type { RunEnd } from "../../../src/workflows/runs/run.ts";
import {
  type ExecutionStage,
  openExecutionStage,
  type StepText,
} from "../../support/workflows/execution-stage.ts";

let stage: ExecutionStage;
beforeAll(async () => {
  stage = await openExecutionStage();
});
afterAll(() => stage.close());
beforeEach(() => {
  stage.ledger.length = 0;
});

const STEPS: readonly StepText[] = [
  { id: "make", kind: "make", settings: { rows: 30 } },
  { id: "none", kind: "none", from: ["make"] },
  { id: "skipped", kind: "pass", from: ["none"] },
  { id: "each", kind: "each", from: ["make"] },
  { id: "check", kind: "split", from: ["each"] },
  { id: "effect", kind: "effect", from: ["check.else", "skipped"] },
  { id: "stop", kind: "break", settings: { break_on: "not_empty" }, from: ["effect"] },
  { id: "never", kind: "pass", from: ["stop"] },
];

const END = { status: "completed", brokeAt: "stop" };

describe("W04: a run continues after a lost claim", () => {
  test("at whichever write the claim is lost, the next worker ends the run as if nothing had happened", async () => {
    const undisturbed = await stage.accept(STEPS);
    const worked = await stage.work(undisturbed);
    expect(worked).toMatchObject({ kind: "ended", end: END });
    const writes = worked.kind === "ended" ? worked.writes : 0;
    expect(writes).toBeGreaterThan(10);
    const expected = await stage.rows(undisturbed, "effect");
    for (let killAt = 1; killAt <= writes; killAt += 1) {
      stage.ledger.length = 0;
      const run = await stage.accept(STEPS);
      expect(await stage.work(run, { killAt })).toEqual({ kind: "killed" });
      expect(await stage.work(run)).toMatchObject({ kind: "ended", end: END });
      const keys = (await stage.rows(run, "effect")).map(({ n, key }) => [n, key]);
      expect(keys).toEqual(expected.map(({ n }) => [n, `${run.id}:each:${n}`]));
      expect(await stage.effects(run), `effects when killed at ${killAt}`).toBe(1);
      const found = await stage.steps(run);
      expect(Object.values(found).map(({ status }) => status)).not.toContain("running");
      expect(found["skipped"]).toMatchObject({ status: "skipped" });
      expect(found["never"]).toMatchObject({ status: "skipped" });
      expect((await stage.stored(run)).filter((name) => name.includes("$progress"))).toEqual([]);
    }
  }, 120_000);

  test("a worker that was killed again and again finishes, and completed steps are not repeated", async () => {
    const run = await stage.accept(STEPS);
    let end: RunEnd | undefined;
    let workers = 0;
    for (let killAt = 2; end === undefined; killAt += 1) {
      workers += 1;
      const worked = await stage.work(run, { killAt: 2 + Math.floor(killAt / 2) });
      if (worked.kind === "ended") end = worked.end;
    }
    expect(end).toMatchObject(END);
    expect(workers).toBeGreaterThan(2);
    expect(await stage.effects(run)).toBe(1);
    const { make, each } = await stage.steps(run);
    expect(make?.attempts).toBeGreaterThan(1);
    const found = Object.values(await stage.steps(run));
    const repeated = found.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0);
    expect((await stage.record(run)).retries).toBe(repeated);
    expect(each?.rowsOut).toBe(30);
    // A completed step is behind every later worker.
    expect(stage.ledger.filter((entry) => entry === "effect").length).toBeLessThanOrEqual(workers);
  });

  test("a failure that was recorded is the run's end, whoever finds it", async () => {
    const run = await stage.accept([
      { id: "make", kind: "make", settings: { rows: 1 } },
      { id: "bad", kind: "fail" },
      { id: "below", kind: "pass" },
    ]);
    const failed = {
      status: "failed",
      error: { step: "bad", code: "broken", message: "It is broken." },
    };
    const whole = await stage.work(await stage.accept(run.definition.steps));
    const writes = whole.kind === "ended" ? whole.writes : 0;
    expect(await stage.work(run, { killAt: writes })).toEqual({ kind: "killed" });
    const tries = stage.ledger.length;
    expect(await stage.work(run)).toMatchObject({ kind: "ended", end: failed });
    expect(stage.ledger).toHaveLength(tries);
    const { below } = await stage.steps(run);
    expect(below).toMatchObject({ status: "skipped", skippedBecause: '"bad" failed.' });
  });
});

describe("retry from a step", () => {
  test("outputs before the step are copied and their steps not repeated", async () => {
    const steps: readonly StepText[] = [
      { id: "make", kind: "make", settings: { rows: 2_500 } },
      { id: "paid", kind: "each", settings: { concurrency: 32 } },
      { id: "bad", kind: "fail", settings: { failures: 1 } },
      { id: "after", kind: "pass" },
    ];
    const first = await stage.accept(steps);
    expect(await stage.work(first)).toMatchObject({ end: { status: "failed" } });
    stage.ledger.length = 0;
    const mended = steps.map((step) =>
      step.id === "bad" ? { ...step, kind: "pass", settings: {} } : step,
    );
    const retry = { retryOf: first.id, retryFrom: "bad" };
    const again = await stage.accept(mended, { ...retry, version: 2 });
    expect(await stage.work(again)).toMatchObject({ end: { status: "completed" } });
    expect(stage.ledger).toEqual([]);
    expect(await stage.rows(again, "after")).toEqual(await stage.rows(first, "paid"));
    const { paid, bad } = await stage.steps(again);
    expect(paid).toMatchObject({ status: "completed", attempts: 0, rowsOut: 2_500 });
    expect(paid?.skippedBecause).toContain(first.id);
    expect(bad).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("what the trigger brought is there when the first step is repeated", async () => {
    const steps: readonly StepText[] = [{ id: "a", kind: "input" }];
    const first = await stage.accept(steps, { rows: [{ a: 1 }, { a: 2 }] });
    await stage.work(first);
    const again = await stage.accept(steps, { retryOf: first.id, retryFrom: "a" });
    await stage.work(again);
    expect(await stage.rows(again, "a")).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("a run whose rows are deleted cannot be repeated from the middle", async () => {
    const steps: readonly StepText[] = [
      { id: "make", kind: "make", settings: { rows: 2 } },
      { id: "b", kind: "pass" },
    ];
    const first = await stage.accept(steps, { keepRows: "none" });
    await stage.work(first);
    await withTransaction(stage.database.db, (transaction) =>
      dropRunRows(transaction, { ids: [first.id], day: first.day }),
    );
    const anew = await stage.accept(steps, { retryOf: first.id, retryFrom: "make" });
    expect(await stage.work(anew)).toMatchObject({ end: { status: "completed" } });
    expect(await stage.rows(anew, "b")).toHaveLength(2);
    const again = await stage.accept(steps, { retryOf: first.id, retryFrom: "b" });
    expect(await stage.work(again)).toMatchObject({
      end: { status: "failed", error: { step: null, code: "rows_dropped" } },
    });
  });

  test("rows that are not stored, of which no record knows, are taken for deleted ones", async () => {
    const steps: readonly StepText[] = [
      { id: "x", kind: "make", settings: { rows: 2 } },
      { id: "y", kind: "make", from: [], settings: { rows: 3 } },
      { id: "z", kind: "pass", from: ["y"] },
    ];
    const first = await stage.accept(steps);
    await stage.work(first);
    const { db } = stage.database;
    await db.delete(workflowRows).where(eq(workflowRows.runId, first.id));
    const anew = await stage.accept(steps, { retryOf: first.id, retryFrom: "x" });
    expect(await stage.work(anew)).toMatchObject({ end: { status: "completed" } });
    expect([await stage.rows(anew, "x"), await stage.rows(anew, "z")]).toMatchObject([
      { length: 2 },
      { length: 3 },
    ]);
    const again = await stage.accept(steps, { retryOf: first.id, retryFrom: "z" });
    expect(await stage.work(again)).toMatchObject({
      end: { status: "failed", error: { step: null, code: "rows_dropped" } },
    });
  });

  test("on another version only steps that are as they were are not repeated, and that hang on such alone", async () => {
    const steps: readonly StepText[] = [
      { id: "in", kind: "input" },
      { id: "a", kind: "each", from: ["in"] },
      { id: "below", kind: "each", from: ["a"] },
      { id: "m", kind: "each", from: ["in"] },
      { id: "m2", kind: "each", from: ["m"] },
      // It fails when all others are done.
      { id: "b", kind: "fail", from: ["m2", "below"] },
    ];
    const first = await stage.accept(steps, { rows: [{ n: 1 }] });
    expect(await stage.work(first)).toMatchObject({ end: { error: { step: "b" } } });
    stage.ledger.length = 0;
    const changed = steps.map((step) =>
      step.id === "a" ? { ...step, settings: { concurrency: 3 } } : step,
    );
    const mended = changed.map((step) =>
      step.id === "b" ? { ...step, kind: "pass", from: ["m2"] } : step,
    );
    const again = await stage.accept(mended, { retryOf: first.id, retryFrom: "b", version: 2 });
    expect(await stage.work(again)).toMatchObject({ end: { status: "completed" } });
    expect(stage.ledger).toEqual(["a:1", "below:1"]);
    expect(await stage.rows(again, "a")).toEqual([{ n: 1, key: `${again.id}:a:1` }]);
    const attempts = Object.entries(await stage.steps(again)).map(([id, step]) => [
      id,
      step.attempts,
    ]);
    expect(Object.fromEntries(attempts)).toEqual({ in: 0, a: 1, below: 1, m: 0, m2: 0, b: 1 });
  });

  test("a step that hangs on the repeated one through a skipped one is repeated", async () => {
    const steps: readonly StepText[] = [
      { id: "make", kind: "make", settings: { rows: 2 } },
      { id: "b", kind: "none", from: ["make"] },
      { id: "skipped", kind: "pass", from: ["b"] },
      { id: "merge", kind: "pass", from: ["make", "skipped"] },
    ];
    const first = await stage.accept(steps);
    await stage.work(first);
    // The same definition, whose step has rows this time.
    const mended = steps.map((step) => (step.id === "b" ? { ...step, kind: "pass" } : step));
    const again = await stage.accept(mended, { retryOf: first.id, retryFrom: "b" });
    await stage.work(again);
    expect(await stage.rows(again, "merge")).toHaveLength(4);
  });

  test("where nothing is taken over, a later worker goes on without the rows of the earlier run", async () => {
    const steps: readonly StepText[] = [
      { id: "a", kind: "input" },
      { id: "b", kind: "each" },
    ];
    const first = await stage.accept(steps, { rows: [{ n: 1 }, { n: 2 }] });
    await stage.work(first);
    const again = await stage.accept(steps, { retryOf: first.id, retryFrom: "a" });
    expect(await stage.work(again, { killAt: 4 })).toEqual({ kind: "killed" });
    const { db } = stage.database;
    await db.delete(workflowRows).where(eq(workflowRows.runId, first.id));
    await db.update(workflowRuns).set({ rowsDropped: true }).where(eq(workflowRuns.id, first.id));
    expect(await stage.work(again)).toMatchObject({ end: { status: "completed" } });
    expect((await stage.rows(again, "b")).map(({ n }) => n)).toEqual([1, 2]);
  });

  test("killed while it copies, the next worker copies the rest", async () => {
    const steps: readonly StepText[] = [
      { id: "make", kind: "make", settings: { rows: 2 } },
      { id: "b", kind: "each" },
      { id: "c", kind: "pass" },
    ];
    const first = await stage.accept(steps);
    await stage.work(first);
    for (let killAt = 1; killAt <= 6; killAt += 1) {
      stage.ledger.length = 0;
      const again = await stage.accept(steps, { retryOf: first.id, retryFrom: "c" });
      expect(await stage.work(again, { killAt })).toEqual({ kind: "killed" });
      expect(await stage.work(again)).toMatchObject({ end: { status: "completed" } });
      expect(stage.ledger).toEqual([]);
      expect(await stage.rows(again, "c")).toEqual(await stage.rows(first, "c"));
    }
  });
});
