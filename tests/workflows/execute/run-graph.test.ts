import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { workflowSteps } from "../../../src/db/tables/workflows.ts";
import { defineStepKind } from "../../../src/workflows/steps/step-kind.ts";
import {
  type ExecutionStage,
  openExecutionStage,
  type StepText,
} from "../../support/workflows/execution-stage.ts";

let stage: ExecutionStage;
beforeAll(async () => {
  stage = await openExecutionStage({ kinds: [untilBroken, slowBeside, neverBegun] });
});
afterAll(() => stage.close());

/** Ends after the run has been broken beside it. */
const untilBroken = defineStepKind({
  ...{ kind: "until_broken", group: "transform", label: "", help: "", example: {} },
  schema: z.strictObject({}),
  async run({ run, output }) {
    await vi.waitFor(async () => expect((await stage.record(run)).brokeAt).toBe("stop"), 10_000);
    await output().push({ is: "done" });
    return undefined;
  },
});

/** Set: the worker is lost in the middle of the step, after the run has been broken beside it. */
let lost: AbortController | undefined;
const slowBeside = defineStepKind({
  ...{ kind: "slow_beside", group: "transform", label: "", help: "", example: {} },
  schema: z.strictObject({}),
  async run({ run, eachRow }) {
    await eachRow({
      concurrency: 1,
      work: async ({ row, number, signal }) => {
        if (number === 40 && lost !== undefined) {
          const isBroken = async () => expect((await stage.record(run)).brokeAt).toBe("stop");
          await vi.waitFor(isBroken, 10_000);
          lost.abort();
          signal.throwIfAborted();
        }
        return [row];
      },
    });
    return undefined;
  },
});

/** Waits for its end, so that it has no outputs when the worker is lost. */
const neverBegun = defineStepKind({
  ...{ kind: "never_begun", group: "transform", label: "", help: "", example: {} },
  schema: z.strictObject({}),
  run: ({ signal }) =>
    new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    }),
});

interface Case {
  readonly name: string;
  readonly steps: readonly StepText[];
  /** `{}` unless given. */
  readonly rows?: readonly Record<string, number>[];
  readonly end: object;
  /** `step: status` or `step: [status, rows_out]`. */
  readonly statuses: Readonly<Record<string, string | readonly [string, number]>>;
}

const none = { id: "none", kind: "none" } as const;
const make = (rows: number, id = "make"): StepText => ({ id, kind: "make", settings: { rows } });
const completed = { status: "completed", brokeAt: undefined };

const CASES: readonly Case[] = [
  {
    name: "a step runs when the step above has rows",
    steps: [
      { id: "a", kind: "input" },
      { id: "b", kind: "pass" },
    ],
    rows: [{ n: 1 }, { n: 2 }],
    end: completed,
    statuses: { a: ["completed", 2], b: ["completed", 2] },
  },
  {
    name: "0 rows above: the step and everything below are skipped, and the run completes",
    steps: [make(3), none, { id: "b", kind: "pass" }, { id: "c", kind: "pass" }],
    end: completed,
    statuses: { make: ["completed", 3], none: ["completed", 0], b: "skipped", c: "skipped" },
  },
  {
    name: "run_on_empty runs with 0 rows",
    steps: [
      make(3),
      none,
      { id: "b", kind: "pass", run_on_empty: true },
      { id: "c", kind: "pass" },
    ],
    end: completed,
    statuses: { make: "completed", none: "completed", b: ["completed", 0], c: "skipped" },
  },
  {
    name: "run_on_empty below a skipped step is skipped",
    steps: [
      make(1),
      none,
      { id: "b", kind: "pass" },
      { id: "c", kind: "pass", run_on_empty: true },
    ],
    end: completed,
    statuses: { make: "completed", none: "completed", b: "skipped", c: "skipped" },
  },
  {
    name: "a source below an empty step runs, and one below a skipped step too",
    steps: [
      make(1),
      none,
      make(2, "source"),
      { id: "b", kind: "pass", from: ["none"] },
      { ...make(4, "last"), from: ["b"] },
      { id: "c", kind: "pass" },
    ],
    end: completed,
    statuses: {
      ...{ make: "completed", none: "completed", source: ["completed", 2] },
      ...{ b: "skipped", last: ["completed", 4], c: ["completed", 4] },
    },
  },
  {
    name: "0 rows from the trigger: input runs, the rest is skipped",
    steps: [
      { id: "a", kind: "input" },
      { id: "b", kind: "pass" },
    ],
    rows: [],
    end: completed,
    statuses: { a: ["completed", 0], b: "skipped" },
  },
  {
    name: "a first step that is no source reads what the trigger brought",
    steps: [{ id: "a", kind: "names" }],
    rows: [{ n: 1 }],
    end: completed,
    statuses: { a: ["completed", 1] },
  },
  {
    name: "a first step that is no source is skipped when the trigger brought nothing",
    steps: [{ id: "a", kind: "pass" }],
    rows: [],
    end: completed,
    statuses: { a: "skipped" },
  },
  {
    name: "a diamond: both arms run once, and the merge after both",
    steps: [
      make(5),
      { id: "left", kind: "pass", from: ["make"] },
      { id: "right", kind: "pass", from: ["make"] },
      { id: "merge", kind: "pass", from: ["left", "right"] },
    ],
    end: completed,
    statuses: {
      make: "completed",
      left: "completed",
      right: "completed",
      merge: ["completed", 10],
    },
  },
  {
    name: "a merge with one empty arm runs with the other arm's rows",
    steps: [
      make(5),
      { id: "left", kind: "none", from: ["make"] },
      { id: "right", kind: "pass", from: ["make"] },
      { id: "merge", kind: "pass", from: ["left", "right"] },
    ],
    end: completed,
    statuses: {
      make: "completed",
      left: ["completed", 0],
      right: "completed",
      merge: ["completed", 5],
    },
  },
  {
    name: "a merge with one skipped arm runs with the other arm's rows",
    steps: [
      make(5),
      { id: "empty", kind: "none", from: ["make"] },
      { id: "left", kind: "pass", from: ["empty"] },
      { id: "right", kind: "pass", from: ["make"] },
      { id: "merge", kind: "pass", from: ["left", "right"] },
    ],
    end: completed,
    statuses: {
      ...{ make: "completed", empty: "completed", left: "skipped" },
      ...{ right: "completed", merge: ["completed", 5] },
    },
  },
  {
    name: "a merge of one skipped and one empty arm is skipped, unless run_on_empty",
    steps: [
      make(5),
      { id: "empty", kind: "none", from: ["make"] },
      { id: "left", kind: "pass", from: ["empty"] },
      { id: "merge", kind: "pass", from: ["left", "empty"] },
      { id: "always", kind: "pass", from: ["left", "empty"], run_on_empty: true },
    ],
    end: completed,
    statuses: {
      ...{ make: "completed", empty: "completed", left: "skipped" },
      ...{ merge: "skipped", always: ["completed", 0] },
    },
  },
  {
    name: "named outputs are read by their names",
    steps: [
      make(5),
      { id: "check", kind: "split" },
      { id: "even", kind: "pass", from: ["check"] },
      { id: "odd", kind: "pass", from: ["check.else"] },
    ],
    end: completed,
    statuses: {
      ...{ make: "completed", check: ["completed", 5] },
      ...{ even: ["completed", 2], odd: ["completed", 3] },
    },
  },
  {
    name: "a failing step fails the run: earlier outputs stay, later steps do not start",
    steps: [make(2), { id: "bad", kind: "fail" }, { id: "b", kind: "pass" }],
    end: {
      status: "failed",
      error: { step: "bad", code: "broken", message: "It is broken." },
      brokeAt: undefined,
    },
    statuses: { make: ["completed", 2], bad: "failed", b: "skipped" },
  },
  {
    name: "a kind that there is no more fails by its name",
    steps: [{ id: "old", kind: "gone" }],
    end: {
      status: "failed",
      error: {
        step: "old",
        code: "unknown_kind",
        message: 'There is no kind of step "gone". Choose another.',
      },
      brokeAt: undefined,
    },
    statuses: { old: "failed" },
  },
  ...breakCases(),
];

function breakCases(): readonly Case[] {
  const below: StepText = { id: "below", kind: "pass", run_on_empty: true };
  const failed = {
    status: "failed",
    error: { step: "stop", code: "flow_break", message: "enough" },
    brokeAt: "stop",
  };
  const form = (break_on: string, as: string): StepText => ({
    id: "stop",
    kind: "break",
    settings: { break_on, as },
  });
  return [
    {
      name: "flow_break on empty runs with 0 rows and completes the run",
      steps: [make(1), none, form("empty", "completed"), below, make(3, "source")],
      end: { status: "completed", brokeAt: "stop" },
      statuses: {
        ...{ make: "completed", none: "completed", stop: "completed" },
        ...{ below: "skipped", source: "skipped" },
      },
    },
    {
      name: "flow_break on empty below a skipped step runs",
      steps: [make(1), none, { id: "b", kind: "pass" }, form("empty", "completed"), below],
      end: { status: "completed", brokeAt: "stop" },
      statuses: {
        ...{ make: "completed", none: "completed", b: "skipped" },
        ...{ stop: "completed", below: "skipped" },
      },
    },
    {
      name: "flow_break on empty lets rows through",
      steps: [make(1), form("empty", "failed"), below],
      end: completed,
      statuses: { make: "completed", stop: ["completed", 1], below: ["completed", 1] },
    },
    {
      name: "flow_break on rows fails the run",
      steps: [make(1), form("not_empty", "failed"), below],
      end: failed,
      statuses: { make: "completed", stop: "completed", below: "skipped" },
    },
    {
      name: "flow_break on rows is skipped without any",
      steps: [make(1), none, form("not_empty", "failed")],
      end: completed,
      statuses: { make: "completed", none: "completed", stop: "skipped" },
    },
  ];
}

describe("3.2 Workflow run: steps", () => {
  test.each(CASES)("$name", async ({ steps, rows, end, statuses }) => {
    const run = await stage.accept(steps, rows === undefined ? {} : { rows });
    const worked = await stage.work(run);
    expect(worked).toMatchObject({ kind: "ended", end });
    const found = await stage.steps(run);
    const shown = Object.entries(statuses).map(([id, expected]) => {
      const { status, rowsOut } = found[id] ?? { status: "missing", rowsOut: -1 };
      return [id, typeof expected === "string" ? status : [status, rowsOut]];
    });
    expect(Object.fromEntries(shown)).toEqual(statuses);
  });

  test("a skipped step says why", async () => {
    const run = await stage.accept([
      make(1),
      none,
      { id: "b", kind: "pass" },
      { id: "c", kind: "pass" },
    ]);
    await stage.work(run);
    const { b, c } = await stage.steps(run);
    expect(b?.skippedBecause).toBe('"none" brought no rows.');
    expect(c?.skippedBecause).toBe('"b" was skipped.');
  });

  test("inputs have the names of tables and follow one another", async () => {
    const run = await stage.accept([
      make(3),
      { id: "check", kind: "split" },
      { id: "names", kind: "names", from: ["check.else", "make"] },
    ]);
    await stage.work(run);
    expect(await stage.rows(run, "names")).toEqual([
      { name: "check_else", rows: 2 },
      { name: "make", rows: 3 },
    ]);
  });

  test("four steps run side by side; when one fails the others are aborted and recorded as stopped", async () => {
    stage.ledger.length = 0;
    const hang = (id: string): StepText => ({ id, kind: "hang", from: ["make"] });
    const run = await stage.accept([
      make(1),
      hang("a"),
      hang("b"),
      { id: "bad", kind: "fail", from: ["make"], settings: { waiting: 3 } },
      hang("c"),
      hang("d"),
    ]);
    const worked = await stage.work(run);
    expect(worked).toMatchObject({ end: { status: "failed", error: { step: "bad" } } });
    expect([...stage.ledger].sort()).toEqual(
      ["a waits", "b waits", "bad#1", "c waits", "a aborted", "b aborted", "c aborted"].sort(),
    );
    const found = await stage.steps(run);
    const statuses = Object.entries(found).map(([id, { status }]) => [id, status]);
    expect(Object.fromEntries(statuses)).toEqual({
      ...{ make: "completed", a: "stopped", b: "stopped", c: "stopped", bad: "failed" },
      d: "skipped",
    });
  });

  test("steps beside a flow_break finish, and nothing more starts", async () => {
    const run = await stage.accept([
      make(1),
      { id: "stop", kind: "break", settings: { break_on: "not_empty" }, from: ["make"] },
      { id: "beside", kind: "until_broken", from: ["make"] },
      { id: "after", kind: "pass", from: ["beside"] },
    ]);
    expect(await stage.work(run)).toMatchObject({ end: { status: "completed", brokeAt: "stop" } });
    const { beside, after } = await stage.steps(run);
    expect(beside?.status).toBe("completed");
    expect(after).toMatchObject({ status: "skipped", skippedBecause: 'The run ended at "stop".' });
  });

  test.each(["running", "stopped"] as const)(
    "a step that was %s beside a flow_break when its worker was lost finishes, and nothing more starts",
    async (status) => {
      const run = await stage.accept([
        make(100),
        { id: "stop", kind: "break", settings: { break_on: "not_empty" }, from: ["make"] },
        { id: "beside", kind: "slow_beside", from: ["make"] },
        { id: "after", kind: "pass", from: ["beside"] },
        { id: "other", kind: "never_begun", from: ["make"] },
      ]);
      const server = new AbortController();
      lost = server;
      await expect(stage.work(run, { server: server.signal })).rejects.toThrow("abort");
      lost = undefined;
      const isBeside = and(eq(workflowSteps.runId, run.id), eq(workflowSteps.stepId, "beside"));
      const isOther = and(eq(workflowSteps.runId, run.id), eq(workflowSteps.stepId, "other"));
      const { db } = stage.database;
      await db.update(workflowSteps).set({ status }).where(isBeside);
      await db.update(workflowSteps).set({ status: "pending", attempts: 0 }).where(isOther);
      expect((await stage.record(run)).brokeAt).toBe("stop");
      expect(await stage.work(run)).toMatchObject({
        end: { status: "completed", brokeAt: "stop" },
      });
      const { beside, after, other } = await stage.steps(run);
      expect(beside).toMatchObject({ status: "completed", rowsOut: 100, attempts: 2 });
      expect(after?.status).toBe("skipped");
      expect(other).toMatchObject({ status: "skipped", attempts: 0 });
    },
  );
});
