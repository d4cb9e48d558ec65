import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { apiKeys } from "../../../src/db/tables/api-keys.ts";
import { users } from "../../../src/db/tables/users.ts";
import { workflowMarks } from "../../../src/db/tables/workflows.ts";
import { retryPauseMs } from "../../../src/workflows/execute/retry-pause.ts";
import { StepFailure } from "../../../src/workflows/runs/run.ts";
import { defineStepKind } from "../../../src/workflows/steps/step-kind.ts";
import {
  type ExecutionStage,
  openExecutionStage,
  type StepText,
} from "../../support/workflows/execution-stage.ts";

const common = { group: "source" as const, label: "", help: "", example: {} };
const quiet = { ...common, schema: z.strictObject({}), run: async () => undefined };
let faults: readonly { field: string; message: string }[] = [];
const administrators = defineStepKind({ ...quiet, kind: "files", administratorsOnly: true });
const keyed = defineStepKind({ ...quiet, kind: "keyed", needsKey: true });
const checked = defineStepKind({ ...quiet, kind: "checked", check: async () => faults });
const crash = defineStepKind({
  ...quiet,
  kind: "crash",
  run: async () => {
    throw new TypeError("a secret value");
  },
});
const badText = defineStepKind({
  ...quiet,
  kind: "bad_text",
  run: async () => {
    throw new StepFailure("refused", "The other side said nul \0 and half \ud83d.");
  },
});
/** Ends after its abort, and tries to write then. */
const stubborn = defineStepKind({
  ...quiet,
  kind: "stubborn",
  async run({ signal, output }) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await output().push({ is: "late" });
    return undefined;
  },
});
/** Writes a row; its first try hangs then, and wants to write more after its abort. */
const slowFirst = defineStepKind({
  ...quiet,
  kind: "slow_first",
  async run({ attempt, output, signal, timeMs }) {
    // Of the first try's time nothing is left.
    await output().push({ attempt, hasTime: timeMs > 0 && timeMs <= 2_000 });
    if (attempt > 1) return undefined;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await output().push({ is: "late" });
    return undefined;
  },
});
/** Writes a mark and a row, and fails then. */
const halfEffect = defineStepKind({
  ...quiet,
  kind: "half_effect",
  async run({ commit, output, run }) {
    await commit(async (transaction) => {
      await output().push({ is: "half" });
      const mark = { kind: "file" as const, subject: "half", runId: run.id, chain: [] };
      await transaction.insert(workflowMarks).values(mark);
      throw new StepFailure("effect_failed", "It failed.", { isRetryable: true });
    });
    return undefined;
  },
});

let stage: ExecutionStage;
beforeAll(async () => {
  stage = await openExecutionStage({
    kinds: [administrators, keyed, checked, crash, badText, stubborn, slowFirst, halfEffect],
    settings: { WORKFLOW_MAX_ROWS: 2_000, WORKFLOW_MAX_BYTES: 16_000 },
  });
});
afterAll(() => stage.close());
beforeEach(() => {
  stage.ledger.length = 0;
  stage.paused.length = 0;
  stage.aheadMs = 0;
});

const work = async (steps: readonly StepText[], more = {}) => {
  const run = await stage.accept(steps, more);
  const worked = await stage.work(run);
  if (worked.kind === "killed") throw new Error("the run was killed");
  return { run, end: worked.end, steps: await stage.steps(run) };
};
const failing = (settings: Record<string, string | number | boolean>, more = {}): StepText => ({
  ...{ id: "bad", kind: "fail", settings },
  ...more,
});

describe("retries", () => {
  test("a retryable failure is repeated, with outputs that begin anew", async () => {
    const { run, end, steps } = await work([failing({ retryable: true, failures: 2 })]);
    expect(end).toMatchObject({ status: "completed" });
    expect(stage.ledger).toEqual(["bad#1", "bad#2", "bad#3"]);
    expect(stage.paused).toEqual([2_000, 4_000]);
    expect(await stage.rows(run, "bad")).toEqual([{ attempt: 3 }]);
    expect(steps["bad"]).toMatchObject({ attempts: 3, rowsOut: 1 });
    expect((await stage.record(run)).retries).toBe(2);
  });

  test("after `retries` repetitions the step fails; another failure is not repeated", async () => {
    expect((await work([failing({ retryable: true }, { retries: 1 })])).end.status).toBe("failed");
    expect((await work([failing({}, { id: "once" })])).end.status).toBe("failed");
    expect(stage.ledger).toEqual(["bad#1", "bad#2", "once#1"]);
  });

  test("the pause is what the other side asks for, up to ten minutes", async () => {
    await work([failing({ retryable: true, failures: 1, after: 90 })]);
    await work([failing({ retryable: true, failures: 1, after: 100_000 })]);
    expect(stage.paused).toEqual([90_000, 600_000]);
  });

  test("pauses double from 2 s to 60 s, a fifth more or less", () => {
    const failure = new StepFailure("x", "x", { isRetryable: true });
    const middle = [1, 2, 3, 4, 5, 6, 7].map((tries) => retryPauseMs(failure, tries, 0.5));
    expect(middle).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(retryPauseMs(failure, 1, 0)).toBe(1_600);
    expect(retryPauseMs(failure, 7, 1)).toBe(72_000);
  });

  test("without time for the pause the failure counts at once", async () => {
    const { end } = await work([failing({ retryable: true, after: 500 })], { timeoutSeconds: 60 });
    expect(end).toMatchObject({ error: { code: "broken" } });
    expect(stage.paused).toEqual([]);
  });
});

test("a failure is recorded though its message has what no database stores", async () => {
  const error = { step: "bad", code: "refused", message: "The other side said nul  and half ." };
  const { end, steps } = await work([{ id: "bad", kind: "bad_text" }]);
  expect(end).toMatchObject({ status: "failed", error });
  expect(steps["bad"]).toMatchObject({ status: "failed", error });
});

describe("time", () => {
  test("a step that takes longer than its timeout fails by name", async () => {
    const { end } = await work([{ id: "hang", kind: "hang", timeout_seconds: 0.05 }]);
    expect(end).toMatchObject({ error: { step: "hang", code: "step_timeout" } });
    expect(stage.ledger).toContain("hang aborted");
  });

  test("a step's timeout is that of one try, and retries follow it", async () => {
    const hang = { id: "hang", kind: "hang", timeout_seconds: 0.05, retries: 1 };
    const { end, steps } = await work([hang]);
    expect(end).toMatchObject({ error: { step: "hang", code: "step_timeout" } });
    expect(steps["hang"]).toMatchObject({ status: "failed", attempts: 2 });
    expect(stage.paused).toEqual([2_000]);
    const slow = await work([{ id: "slow", kind: "slow_first", timeout_seconds: 2 }]);
    expect(slow.end.status).toBe("completed");
    expect(await stage.rows(slow.run, "slow")).toEqual([{ attempt: 2, hasTime: true }]);
  });

  test("the run's time counts from its first start", async () => {
    const run = await stage.accept([{ id: "hang", kind: "hang" }], { timeoutSeconds: 100 });
    stage.aheadMs = 99_950;
    expect(await stage.work(run)).toMatchObject({ end: { error: { code: "run_timeout" } } });
    stage.aheadMs = 200_000;
    const late = await stage.accept([{ id: "a", kind: "input" }], { timeoutSeconds: 100 });
    expect(await stage.work(late)).toMatchObject({
      end: { status: "failed", error: { step: "a", code: "run_timeout" } },
    });
  });

  test("what a step writes after its time is refused", async () => {
    const { run, end } = await work([{ id: "late", kind: "stubborn", timeout_seconds: 0.05 }]);
    expect(end).toMatchObject({ error: { code: "step_timeout" } });
    expect(await stage.rows(run, "late")).toEqual([]);
  });
});

describe("limits of an output", () => {
  test("more rows than WORKFLOW_MAX_ROWS fail the step by name", async () => {
    const { end } = await work([{ id: "make", kind: "make", settings: { rows: 2_001 } }]);
    expect(end).toMatchObject({ error: { step: "make", code: "output_too_large" } });
    expect(end.status === "failed" && end.error.message).toContain("2000 rows (WORKFLOW_MAX_ROWS)");
  });

  test("more bytes than WORKFLOW_MAX_BYTES fail the step by name", async () => {
    const { end } = await work([{ id: "make", kind: "make", settings: { rows: 1_999 } }]);
    expect(end).toMatchObject({ error: { code: "output_too_large" } });
    expect(end.status === "failed" && end.error.message).toContain("WORKFLOW_MAX_BYTES");
  });

  test("exactly as many are stored", async () => {
    const { end, steps } = await work([{ id: "make", kind: "make", settings: { rows: 1_400 } }]);
    expect(end.status).toBe("completed");
    expect(steps["make"]?.rowsOut).toBe(1_400);
  });
});

describe("what a step is not allowed is refused again when it runs", () => {
  const codeOf = async (step: StepText, more = {}) => {
    const { end } = await work([step], more);
    return end.status === "failed" ? end.error.code : end.status;
  };

  test("steps of administrators, by the owner's role now", async () => {
    const { db } = stage.database;
    expect(await codeOf({ id: "a", kind: "files" })).toBe("owner_not_administrator");
    await db.update(users).set({ role: "admin" }).where(eq(users.id, stage.owner));
    expect(await codeOf({ id: "a", kind: "files" })).toBe("completed");
  });

  test("a disabled owner's, and an owner's who is gone", async () => {
    const { db } = stage.database;
    await db.update(users).set({ state: "disabled" }).where(eq(users.id, stage.owner));
    expect(await codeOf({ id: "a", kind: "input" })).toBe("owner_disabled");
    await db.update(users).set({ state: "active" }).where(eq(users.id, stage.owner));
    expect(await codeOf({ id: "a", kind: "input" }, { ownerId: null })).toBe("owner_missing");
    expect(await codeOf({ id: "a", kind: "input" }, { ownerId: "usr_gone" })).toBe("owner_missing");
  });

  test("without a key, with one that is gone, with an inactive one, and with another user's", async () => {
    const { db } = stage.database;
    const key = { id: "key_1", name: "k", keyHash: "h", lastFour: "1234", ownerId: stage.owner };
    await db
      .insert(apiKeys)
      .values({ ...key, changeSeq: 1, toolScope: { tools: [], sql_connections: [] } } as never);
    const step: StepText = { id: "a", kind: "keyed" };
    expect(await codeOf(step)).toBe("key_missing");
    expect(await codeOf(step, { keyId: "key_gone" })).toBe("key_missing");
    expect(await codeOf(step, { keyId: "key_1" })).toBe("completed");
    await db.update(apiKeys).set({ state: "inactive" });
    expect(await codeOf(step, { keyId: "key_1" })).toBe("key_inactive");
    const user = { id: "usr_other", username: "other", role: "user" as const };
    await db.insert(users).values(user);
    await db.update(apiKeys).set({ state: "active", ownerId: user.id });
    expect(await codeOf(step, { keyId: "key_1" })).toBe("key_not_owned");
  });

  test("what the kind's own check finds", async () => {
    faults = [{ field: "path", message: "There is no folder x." }];
    const { end } = await work([{ id: "a", kind: "checked" }]);
    expect(end).toMatchObject({
      error: { step: "a", code: "step_refused", message: "path: There is no folder x." },
    });
    faults = [];
    expect(await codeOf({ id: "a", kind: "checked" })).toBe("completed");
  });

  test("a fault of the gateway fails the step without its text", async () => {
    const { end } = await work([{ id: "a", kind: "crash" }]);
    expect(end).toMatchObject({ error: { code: "internal_error" } });
    expect(JSON.stringify(end)).not.toContain("secret");
  });
});

describe("commit: the step and its effect in one transaction", () => {
  test("the effect happens with the step's end, and its rows are the step's", async () => {
    const { run, end, steps } = await work([
      { id: "make", kind: "make", settings: { rows: 3 } },
      { id: "effect", kind: "effect" },
    ]);
    expect(end.status).toBe("completed");
    expect(await stage.effects(run)).toBe(1);
    expect(steps["effect"]).toMatchObject({ status: "completed", rowsOut: 3, rowsIn: 3 });
    expect(await stage.rows(run, "effect")).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  test("an effect that fails is undone with all that it wrote", async () => {
    const { run, end } = await work([
      { id: "make", kind: "make", settings: { rows: 3 } },
      { id: "half", kind: "half_effect", retries: 1 },
    ]);
    expect(end).toMatchObject({ error: { step: "half", code: "effect_failed" } });
    expect(await stage.effects(run)).toBe(0);
    expect(await stage.rows(run, "half")).toEqual([]);
    expect(stage.paused).toEqual([2_000]);
  });
});
