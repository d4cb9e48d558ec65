import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { users } from "../../../src/db/tables/users.ts";
import {
  workflowRows,
  workflowRuns,
  workflowSteps,
  workflows,
} from "../../../src/db/tables/workflows.ts";
import type { WorkContext } from "../../../src/queue/topic.ts";
import { acceptRunNow, chunksOf } from "../../../src/workflows/runs/accept/accept-runs.ts";
import { createChildRuns } from "../../../src/workflows/runs/children/create-child-runs.ts";
import { stopRun, stopWorkflow } from "../../../src/workflows/runs/control/stop-runs.ts";
import { repairRuns } from "../../../src/workflows/runs/end/repair-runs.ts";
import type { ClaimedRun } from "../../../src/workflows/runs/run.ts";
import { dayOfRun } from "../../../src/workflows/runs/run-id.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  activeOf,
  createGate,
  insertUser,
  insertWorkflow,
  openRunStage,
  queueOf,
  type RunStage,
  type RunStageOptions,
  runsOf,
} from "../../support/workflows/run-stage.ts";

const WAIT = { timeout: 30_000, interval: 10 };

let database: Database;
let owner: string;
let workflow: string;
const open: RunStage[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events, workflow_active_runs`);
  owner = await insertUser(database);
  workflow = await insertWorkflow(database, { ownerId: owner });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((stage) => stage.close()));
});
afterAll(() => database.close());

function replica(options: RunStageOptions = {}): RunStage {
  const stage = openRunStage(database, options);
  open.push(stage);
  return stage;
}

async function accept({ store }: RunStage, workflowId = workflow, rows = [{}]): Promise<string> {
  const acceptance = await acceptRunNow(store, workflowId, {
    trigger: { kind: "webhook" },
    triggerKey: "webhook",
    rows: await chunksOf(rows),
  });
  if (acceptance.kind !== "accepted") throw new Error(acceptance.kind);
  return acceptance.runId;
}
const inTransaction = <Result>(work: Parameters<typeof withTransaction<Result>>[1]) =>
  withTransaction(database.db, work);
const recordOf = async (runId: string) => {
  const [run] = await database.db.select().from(workflowRuns).where(eq(workflowRuns.id, runId));
  if (run === undefined) throw new Error("no such run");
  return run;
};
const untilEnded = (runId: string) =>
  vi.waitFor(async () => {
    const run = await recordOf(runId);
    expect(run.endedAt).not.toBeNull();
    return run;
  }, WAIT);
const events = () =>
  database.db
    .select({ kind: outboxEvents.kind, body: outboxEvents.body })
    .from(outboxEvents)
    .where(eq(outboxEvents.sink, "internal"));
/** As if the worker had been lost: its lease is over, by the database's time. */
const loseLease = () =>
  database.db.execute(sql`
    update outbox_events set lease_until = now() - interval '1 second'
    where sink = 'workflow_run' and lease_until is not null`);
/** Work that never ends by itself, and what it was given. */
function hanging() {
  const claims: { run: ClaimedRun; context: WorkContext }[] = [];
  const execute = (run: ClaimedRun, context: WorkContext) => {
    claims.push({ run, context });
    return new Promise<never>((_, reject) =>
      context.signal.addEventListener("abort", () => reject(context.signal.reason)),
    );
  };
  return { claims, execute };
}

describe("a worker", () => {
  test("gets the run with its version, and ends it with its event", async () => {
    const stage = replica();
    const seen: ClaimedRun[] = [];
    stage.work(async (run) => {
      seen.push(run);
      return { status: "completed", brokeAt: "take" };
    });
    const runId = await accept(stage, workflow, [{}, {}]);
    const run = await untilEnded(runId);
    expect(run).toMatchObject({ status: "completed", attempts: 1, brokeAt: "take", error: null });
    expect(seen).toMatchObject([
      {
        ...{ id: runId, day: dayOfRun(runId), workflowId: workflow, version: 1, rowsReceived: 2 },
        ...{ ownerId: owner, keyId: null, chain: [], attempts: 1, keepRows: "all" },
        ...{ startedAt: run.startedAt?.getTime(), timeoutSeconds: 3_600, retryOf: null },
        definition: { steps: [{ id: "take", kind: "input", from: [], retries: 2 }] },
      },
    ]);
    expect(await events()).toEqual([
      {
        kind: "workflow.completed",
        body: {
          ...{ workflow_id: workflow, workflow_name: "a workflow", run_id: runId, owner_id: owner },
          ...{ trigger: "webhook", rows_received: 2, chain: [workflow] },
          ...{ failed_step: null, error: null },
        },
      },
    ]);
    expect(await activeOf(database, workflow)).toEqual([]);
  });

  test("promotes the next run with the end of the one before, in the order of acceptance", async () => {
    const stage = replica();
    const gate = createGate();
    const ids = [await accept(stage), await accept(stage), await accept(stage)];
    stage.work(gate.execute);
    for (const [index, id] of ids.entries()) {
      await gate.beginnings(index + 1);
      gate.open(id);
    }
    await untilEnded(ids[2] ?? "");
    expect(gate.begun).toEqual(ids);
    expect(await queueOf(database, workflow)).toMatchObject({ queued: 0, lastNumber: 3 });
  });

  test("counts failures until a run completes, and stops in between do not matter", async () => {
    const stage = replica();
    const error = { step: "take", row: 3, code: "wrong", message: "It is wrong." };
    const outcomes = ["failed", "failed", "completed"];
    stage.work(async () => {
      const status = outcomes.shift();
      return status === "failed" ? { status, error } : { status: "completed" };
    });
    const first = await untilEnded(await accept(stage));
    expect(first).toMatchObject({ status: "failed", failedStep: "take", error });
    await untilEnded(await accept(stage));
    const failing = await queueOf(database, workflow);
    expect(failing).toMatchObject({ consecutiveFailures: 2, failingSince: first.endedAt });
    await untilEnded(await accept(stage));
    expect(await queueOf(database, workflow)).toMatchObject({
      ...{ consecutiveFailures: 0, failingSince: null },
    });
    expect((await events()).map(({ kind }) => kind).sort()).toEqual([
      ...["workflow.completed", "workflow.failed", "workflow.failed"],
    ]);
  });

  test("adds up what its steps used, and ends the steps that nobody ended", async () => {
    const stage = replica();
    stage.work(async ({ id, day }) => {
      const step = { day, runId: id, kind: "chat", status: "completed" } as const;
      await database.db.insert(workflowSteps).values([
        { ...step, stepId: "a", position: 0, attempts: 3, usage: { input_tokens: 5, calls: 1 } },
        { ...step, stepId: "b", position: 1, attempts: 1, usage: { input_tokens: 7, calls: 2 } },
        { ...step, stepId: "c", position: 2, status: "running", attempts: 2 },
        { ...step, stepId: "d", position: 3, status: "pending" },
      ]);
      throw new Error("a fault");
    });
    const run = await untilEnded(await accept(stage));
    expect(run).toMatchObject({
      ...{ status: "failed", failedStep: "c" },
      usage: { input_tokens: 12, calls: 3 },
      error: { step: "c", code: "internal_error" },
    });
    expect(JSON.stringify(run.error)).not.toContain("a fault");
    const steps = await database.db
      .select()
      .from(workflowSteps)
      .where(eq(workflowSteps.runId, run.id))
      .orderBy(workflowSteps.position);
    expect(steps.map(({ status }) => status)).toEqual([
      ...["completed", "completed", "failed", "skipped"],
    ]);
  });

  test.each([
    ["none", "completed", true],
    ["failed", "completed", true],
    ["failed", "failed", false],
    ["all", "completed", false],
  ] as const)(
    "drops the rows of a workflow that keeps %s when a run %s: %s",
    async (keepRows, status, isDropped) => {
      workflow = await insertWorkflow(database, { ownerId: owner, keepRows });
      const stage = replica();
      const error = { step: null, code: "x", message: "x" };
      stage.work(async () => (status === "failed" ? { status, error } : { status }));
      const runId = await accept(stage);
      await untilEnded(runId);
      await stage.close();
      const rows = await database.db
        .select()
        .from(workflowRows)
        .where(eq(workflowRows.runId, runId));
      expect(rows.length).toBe(isDropped ? 0 : 1);
      expect((await recordOf(runId)).rowsDropped).toBe(isDropped);
    },
  );

  test("begins nothing without a license, and what waits with one", async () => {
    let isLicensed = true;
    const stage = replica({ isLicensed: () => isLicensed });
    const gate = createGate();
    gate.openAll();
    const runId = await accept(stage);
    isLicensed = false;
    stage.work(gate.execute);
    stage.runs.wake();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(gate.begun).toEqual([]);
    isLicensed = true;
    stage.runs.wake();
    await untilEnded(runId);
  });

  test("of a replica with WORKFLOW_CONCURRENCY 0 takes nothing", async () => {
    const serving = replica({ environment: { WORKFLOW_CONCURRENCY: "0" } });
    const gate = createGate();
    serving.work(gate.execute);
    const runId = await accept(serving);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(gate.begun).toEqual([]);
    const working = replica();
    gate.openAll();
    working.work(gate.execute);
    await untilEnded(runId);
  });

  test("fails a run whose owner was disabled in the meantime", async () => {
    const stage = replica();
    const runId = await accept(stage);
    await database.db.update(users).set({ state: "disabled" }).where(eq(users.id, owner));
    const gate = createGate();
    stage.work(gate.execute);
    expect(await untilEnded(runId)).toMatchObject({
      ...{ status: "failed", error: { step: null, code: "owner_disabled" } },
    });
    expect(gate.begun).toEqual([]);
  });

  test("never works with the rights of an owner whom the run was not accepted for", async () => {
    const first = replica();
    const lost = hanging();
    first.work(lost.execute);
    const [running, queued] = [await accept(first), await accept(first)];
    await vi.waitFor(() => expect(lost.claims).toHaveLength(1), WAIT);
    await first.close();
    // As the deletion of a user leaves it: the workflow passes, disabled, to who deleted the user.
    const administrator = await insertUser(database, { role: "admin" });
    const passed = { ownerId: administrator, enabled: false };
    await database.db.update(workflows).set(passed).where(eq(workflows.id, workflow));
    await database.db.delete(users).where(eq(users.id, owner));
    const second = replica();
    const gate = createGate();
    gate.openAll();
    second.work(gate.execute);
    for (const runId of [running, queued]) {
      expect(await untilEnded(runId)).toMatchObject({
        ...{ status: "failed", ownerId: owner, error: { step: null, code: "owner_changed" } },
      });
    }
    expect(gate.begun).toEqual([]);
    // What the new owner starts is the new owner's.
    await database.db.update(workflows).set({ enabled: true }).where(eq(workflows.id, workflow));
    const own = await accept(second);
    expect(await untilEnded(own)).toMatchObject({ status: "completed", ownerId: administrator });
  });
});

describe("a run's time", () => {
  test("counts from the first start, over a takeover, and aborts the work at its end", async () => {
    let now = Date.now();
    const options = { now: () => now };
    workflow = await insertWorkflow(database, { ownerId: owner, timeoutSeconds: 60 });
    const [first, second] = [replica(options), replica(options)];
    const [lost, work] = [hanging(), hanging()];
    first.work(lost.execute);
    const runId = await accept(first);
    await vi.waitFor(() => expect(lost.claims).toHaveLength(1), WAIT);
    now += 40_000;
    await first.close();
    second.work(work.execute);
    await vi.waitFor(() => expect(work.claims).toHaveLength(1), WAIT);
    const [claim] = work.claims;
    expect(claim?.run.startedAt).toBe(lost.claims[0]?.run.startedAt);
    now += 19_000;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(claim?.context.signal.aborted).toBe(false);
    now += 1_000;
    expect(await untilEnded(runId)).toMatchObject({
      ...{ status: "failed", attempts: 2, error: { code: "run_timeout" } },
    });
    expect(claim?.context.signal.aborted).toBe(true);
  });

  test("that is over when a worker takes it is not begun again", async () => {
    let now = Date.now();
    const stage = replica({ now: () => now });
    const lost = hanging();
    stage.work(lost.execute);
    const runId = await accept(stage);
    await vi.waitFor(() => expect(lost.claims).toHaveLength(1), WAIT);
    await stage.close();
    now += 3_600_000;
    const gate = createGate();
    replica({ now: () => now }).work(gate.execute);
    expect(await untilEnded(runId)).toMatchObject({ error: { code: "run_timeout" } });
    expect(gate.begun).toEqual([]);
  });
});

describe("a worker that is lost", () => {
  test("is followed by another, until three were lost without progress between them", async () => {
    const runId = await accept(replica());
    for (let worker = 1; worker <= 4; worker += 1) {
      const lost = hanging();
      const stage = replica();
      stage.work(lost.execute);
      await vi.waitFor(() => expect(lost.claims).toHaveLength(1), WAIT);
      const [claim] = lost.claims;
      if (worker === 2)
        await inTransaction(
          (transaction) => claim?.context.checkpoint(transaction) ?? Promise.resolve(),
        );
      await kill(stage);
    }
    const gate = createGate();
    gate.openAll();
    replica().work(gate.execute);
    expect(await untilEnded(runId)).toMatchObject({ status: "failed", attempts: 5 });
    expect((await recordOf(runId)).error).toMatchObject({ code: "worker_lost" });
  });

  test("stores nothing any more: its checkpoint, and its end, are refused by the claim", async () => {
    const stalled = replica();
    let finish: (() => void) | undefined;
    let context: WorkContext | undefined;
    stalled.work(async (_, given) => {
      context = given;
      await new Promise<void>((resolve) => (finish = resolve));
      return { status: "failed", error: { step: null, code: "late", message: "late" } };
    });
    const runId = await accept(stalled);
    await vi.waitFor(() => expect(context).toBeDefined(), WAIT);
    await loseLease();
    const other = replica();
    const gate = createGate();
    other.work(gate.execute);
    await gate.beginnings(1);
    await expect(
      inTransaction((transaction) => context?.checkpoint(transaction) ?? Promise.resolve()),
    ).rejects.toMatchObject({ name: "ClaimLost" });
    finish?.();
    await stalled.close();
    expect(await recordOf(runId)).toMatchObject({ status: "running", attempts: 2, error: null });
    gate.openAll();
    expect(await untilEnded(runId)).toMatchObject({ status: "completed", error: null });
    expect(await events()).toHaveLength(1);
  });

  /** As if its process had ended: it renews nothing, and its claim is not handed back. */
  async function kill(stage: RunStage): Promise<void> {
    const [before] = await claims();
    await stage.close();
    // A close hands the job back; a lost worker does not.
    await database.db.execute(sql`
      update outbox_events set attempts = ${before?.attempts ?? 0} where sink = 'workflow_run'`);
  }
  const claims = () =>
    database.db.select().from(outboxEvents).where(eq(outboxEvents.sink, "workflow_run"));
});

describe("a stop", () => {
  test("aborts the work within two seconds, is final, and the next run begins", async () => {
    const stage = replica();
    const work = hanging();
    stage.work(work.execute);
    const [first, second] = [await accept(stage), await accept(stage)];
    await vi.waitFor(() => expect(work.claims).toHaveLength(1), WAIT);
    const stoppedAt = performance.now();
    await inTransaction((transaction) => stopRun(transaction, first, Date.now()));
    stage.runs.wake();
    const [claim] = work.claims;
    await vi.waitFor(() => expect(claim?.context.signal.aborted).toBe(true), WAIT);
    // Two seconds by design; the rest is for a busy machine.
    expect(performance.now() - stoppedAt).toBeLessThan(10_000);
    await vi.waitFor(() => expect(work.claims).toHaveLength(2), WAIT);
    expect(work.claims[1]?.run.id).toBe(second);
    expect(await recordOf(first)).toMatchObject({ status: "stopped", error: null });
    expect(await events()).toEqual([]);
    await inTransaction((transaction) => stopWorkflow(transaction, workflow, Date.now()));
  });
});

describe("a run of another workflow", () => {
  const parentOf = (more: Partial<ClaimedRun> = {}) =>
    ({
      id: "run_parent",
      workflowId: "wf_parent",
      ownerId: owner,
      chain: [],
      ...more,
    }) as ClaimedRun;

  test("starts once for a key, with the chain of its parent, and is waited for", async () => {
    const stage = replica();
    const gate = createGate();
    stage.work(gate.execute);
    const childRuns = createChildRuns(() => stage.store, stage.runs.waits);
    const child = { parent: parentOf(), workflowId: workflow, rows: [{ a: 1 }] };
    const { runId } = await childRuns.start({ ...child, idempotencyKey: "run_parent:call:1" });
    expect(await childRuns.start({ ...child, idempotencyKey: "run_parent:call:1" })).toEqual({
      runId,
    });
    expect(await recordOf(runId)).toMatchObject({
      ...{ chain: ["wf_parent"], trigger: { kind: "step", run_id: "run_parent" } },
    });
    const waiting = childRuns.wait(runId, new AbortController().signal);
    await gate.beginnings(1);
    gate.openAll();
    expect(await waiting).toBe("completed");
    expect(stage.runs.waits.count()).toBe(0);
  });

  test("starts once for a key, however long its parent runs", async () => {
    let now = Date.now();
    const stage = replica({ now: () => now });
    const childRuns = createChildRuns(() => stage.store, stage.runs.waits);
    const parent = parentOf({ startedAt: now });
    const start = () =>
      childRuns.start({
        parent,
        workflowId: workflow,
        rows: [],
        idempotencyKey: "run_parent:call",
      });
    const first = await start();
    for (const hours of [23, 25, 7 * 24]) {
      now = parent.startedAt + hours * 3_600_000;
      expect(await start()).toEqual(first);
    }
    expect(await runsOf(database, workflow)).toHaveLength(1);
  });

  test("never waits for the place of its parent", async () => {
    const stage = replica({ environment: { WORKFLOW_CONCURRENCY: "1" } });
    const childRuns = createChildRuns(() => stage.store, stage.runs.waits);
    const other = await insertWorkflow(database, { ownerId: owner });
    stage.work(async (run, { signal }) => {
      if (run.workflowId === other) return { status: "completed" };
      const child = { parent: run, workflowId: other, rows: [], idempotencyKey: run.id };
      const { runId } = await childRuns.start(child);
      await childRuns.wait(runId, signal);
      return { status: "completed" };
    });
    expect(await untilEnded(await accept(stage))).toMatchObject({ status: "completed" });
  });

  test("is refused by name", async () => {
    const stage = replica({ environment: { PIPELINE_MAX_QUEUED_RUNS: "0" } });
    const childRuns = createChildRuns(() => stage.store, stage.runs.waits);
    const start = (workflowId: string, parent = parentOf()) =>
      childRuns.start({ parent, workflowId, rows: [], idempotencyKey: "k" });
    const code = (wanted: string) => expect.objectContaining({ name: "StepFailure", code: wanted });
    await expect(start("wf_unknown")).rejects.toEqual(code("workflow_not_found"));
    const stranger = await insertUser(database);
    await expect(start(workflow, parentOf({ ownerId: stranger }))).rejects.toEqual(
      code("workflow_not_found"),
    );
    await expect(start(workflow, parentOf({ chain: [workflow] }))).rejects.toEqual(code("loop"));
    await accept(stage);
    await expect(start(workflow)).rejects.toMatchObject({ code: "queue_full", isRetryable: true });
    const disabled = await insertWorkflow(database, { ownerId: owner, enabled: false });
    await expect(start(disabled)).rejects.toEqual(code("workflow_disabled"));
  });
});

test("a queue that stands still for no reason is set going again", async () => {
  const stage = replica();
  const [first, second] = [await accept(stage), await accept(stage)];
  expect(await repairRuns(database.db, Date.now())).toEqual([]);
  await database.db.execute(sql`update outbox_events set dead_at = now()`);
  expect(await repairRuns(database.db, Date.now())).toEqual([workflow]);
  await database.db.execute(sql`delete from workflow_active_runs where run_id = ${first}`);
  expect(await repairRuns(database.db, Date.now())).toEqual([workflow]);
  expect(await activeOf(database, workflow)).toMatchObject([{ runId: second, status: "running" }]);
  expect(await repairRuns(database.db, Date.now())).toEqual([]);
  const gate = createGate();
  gate.openAll();
  stage.work(gate.execute);
  await untilEnded(second);
  expect((await runsOf(database, workflow))[1]).toMatchObject({ status: "completed" });
});
