import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { withTransaction } from "../../../src/db/context.ts";
import { DatabaseError, isPassing, toDatabaseError } from "../../../src/db/database-error.ts";
import { workflowRuns, workflowVersions } from "../../../src/db/tables/workflows.ts";
import { createExecution } from "../../../src/workflows/execute/execute-run.ts";
import { RunClaim } from "../../../src/workflows/execute/run-claim.ts";
import { packRows } from "../../../src/workflows/rows/pack-rows.ts";
import { insertChunks, MAIN } from "../../../src/workflows/rows/row-store.ts";
import { acceptRunNow, chunksOf } from "../../../src/workflows/runs/accept/accept-runs.ts";
import { stopRun } from "../../../src/workflows/runs/control/stop-runs.ts";
import type { ExecuteRun } from "../../../src/workflows/runs/run.ts";
import { defineStepKind } from "../../../src/workflows/steps/step-kind.ts";
import { openedKind } from "../../support/servers/databases/test-database.ts";
import {
  type ExecutionStage,
  openExecutionStage,
} from "../../support/workflows/execution-stage.ts";
import {
  insertUser,
  insertWorkflow,
  openRunStage,
  type RunStage,
} from "../../support/workflows/run-stage.ts";

const WAIT = { timeout: 60_000, interval: 10 };
const RACES = 30;
const STEPS = 12;
const isEmbedded = openedKind === "embedded";
const common = { group: "source" as const, label: "", help: "", example: {} };
let conflictsLeft = 0;
const conflicting = defineStepKind({
  ...{ ...common, kind: "conflicting", schema: z.strictObject({}) },
  async run({ commit, output }) {
    await commit(async () => {
      await output().push({ is: "stored" });
      conflictsLeft -= 1;
      if (conflictsLeft >= 0) throw new DatabaseError("40P01", "deadlock detected");
    });
    return undefined;
  },
});
let begun: (step: string) => void = () => undefined;
const writing = defineStepKind({
  ...{ ...common, kind: "writing", schema: z.strictObject({}) },
  async run({ output, step, run }) {
    begun(`${run.id} ${step.id}`);
    for (let n = 0; n < 5; n += 1) await output().push({ n });
    return undefined;
  },
});

let stage: ExecutionStage;
beforeAll(async () => {
  stage = await openExecutionStage({ kinds: [conflicting, writing] });
});
afterAll(() => stage.close());

async function withReplica(execute: ExecuteRun | undefined, use: (replica: RunStage) => unknown) {
  const replica = openRunStage(stage.database);
  const kinds = { list: [writing], find: () => writing };
  const store = { ...replica.store, kinds } as unknown as typeof replica.store;
  replica.work(execute ?? createExecution(store));
  try {
    await use(replica);
  } finally {
    await replica.close();
  }
}

async function accept({ store }: RunStage, workflow: string): Promise<string> {
  const acceptance = await acceptRunNow(store, workflow, {
    ...{ trigger: { kind: "webhook" }, triggerKey: "webhook", rows: await chunksOf([{}]) },
  });
  if (acceptance.kind !== "accepted") throw new Error(acceptance.kind);
  return acceptance.runId;
}

const recordOf = async (runId: string) => {
  const found = await stage.database.db
    .select()
    .from(workflowRuns)
    .where(eq(workflowRuns.id, runId));
  return found[0];
};
const untilEnded = (runId: string) =>
  vi.waitFor(async () => {
    const record = await recordOf(runId);
    expect(record?.endedAt).toBeInstanceOf(Date);
    return record;
  }, WAIT);

async function deadlocks(): Promise<number> {
  // A session reports what it counted with the end of a later transaction.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { db } = stage.database;
  await Promise.all([1, 2, 3, 4].map(() => db.execute(sql`select pg_sleep(0.1)`)));
  const [found] = await db.execute<{ deadlocks: string }>(
    sql`select deadlocks from pg_stat_database where datname = current_database()`,
  );
  return Number(found?.deadlocks);
}

describe("the locks of a run", () => {
  test.skipIf(isEmbedded)(
    "a stop beside the steps' writes never meets them in a deadlock",
    async () => {
      const ownerId = await insertUser(stage.database);
      const steps = Array.from({ length: STEPS }, (_, n) => ({ id: `s${n}`, kind: "writing" }));
      const before = await deadlocks();
      await withReplica(undefined, async (replica) => {
        for (let race = 0; race < RACES; race += 1) {
          const definition = { triggers: [], steps };
          const workflow = await insertWorkflow(stage.database, { ownerId, definition });
          const reached = new Promise<void>((resolve) => {
            begun = (place) => {
              if (place.endsWith(` s${race % STEPS}`)) resolve();
            };
          });
          const runId = await accept(replica, workflow);
          replica.runs.wake();
          await reached;
          await withTransaction(stage.database.db, (transaction) =>
            stopRun(transaction, runId, Date.now()),
          );
          expect(["stopped", "completed"]).toContain((await untilEnded(runId))?.status);
        }
      });
      expect(await deadlocks()).toBe(before);
    },
    180_000,
  );

  test.skipIf(isEmbedded)(
    "a row that a suspended worker is still inserting leaves the run to a later try",
    async () => {
      const run = await stage.accept([{ id: "make", kind: "writing" }]);
      const place = { day: run.day, runId: run.id, stepId: "make", output: MAIN };
      let resume: () => void = () => undefined;
      const suspended = new Promise<void>((resolve) => (resume = resolve));
      let isInserted: () => void = () => undefined;
      const inserted = new Promise<void>((resolve) => (isInserted = resolve));
      const old = withTransaction(stage.database.db, async (transaction) => {
        for await (const chunk of packRows([{ n: "old" }])) {
          await insertChunks(transaction, place, [chunk], 0);
        }
        isInserted();
        await suspended;
        throw new Error("rolled back");
      }).catch(() => undefined);
      await inserted;
      const thrown = await stage.work(run).catch((error: unknown) => error);
      expect(toDatabaseError(thrown).code).toBe("55P03");
      expect(await stage.steps(run)).toMatchObject({ make: { status: "running", error: null } });
      resume();
      await old;
      expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
      expect(await stage.rows(run, "make")).toHaveLength(5);
    },
    60_000,
  );

  test("a lock that was not to be had releases the run instead of failing it", async () => {
    const ownerId = await insertUser(stage.database);
    const workflow = await insertWorkflow(stage.database, { ownerId });
    let tries = 0;
    const execute: ExecuteRun = async () => {
      tries += 1;
      if (tries === 1) throw new DatabaseError("55P03", "canceling statement due to lock timeout");
      return { status: "completed" };
    };
    await withReplica(execute, async (replica) => {
      const runId = await accept(replica, workflow);
      replica.runs.wake();
      expect(await untilEnded(runId)).toMatchObject({ status: "completed", error: null });
      expect(tries).toBe(2);
    });
  }, 90_000);

  test.skipIf(isEmbedded)(
    "a worker that stands still in a write loses its locks within half the lease",
    async () => {
      const { db } = stage.database;
      const run = await stage.accept([{ id: "make", kind: "writing" }]);
      const job = sql`select id from outbox_events where body = '{}' and id = ${`evt_${run.id.slice(4)}`} for update`;
      const hold = (transaction: Parameters<Parameters<typeof withTransaction>[1]>[0]) =>
        transaction.execute(job).then(() => undefined);
      const { signal } = new AbortController();
      const claim = new RunClaim(
        stage.database,
        { signal, confirm: hold, checkpoint: hold },
        1_000,
      );
      let isHeld: () => void = () => undefined;
      const held = new Promise<void>((resolve) => (isHeld = resolve));
      let isTaken: () => void = () => undefined;
      const taken = new Promise<void>((resolve) => (isTaken = resolve));
      const written = claim
        .write(async (transaction) => {
          await hold(transaction);
          isHeld();
          await taken;
        })
        .catch((error: unknown) => error);
      await held;
      // Waits for the lock until the database has ended the session that stands still.
      await withTransaction(db, hold);
      isTaken();
      const thrown = await written;
      expect(thrown).toBeInstanceOf(DatabaseError);
      expect(isPassing(toDatabaseError(thrown))).toBe(true);
    },
    60_000,
  );
});

test("an effect that was the victim of a deadlock is repeated, without a repetition of the step's own", async () => {
  conflictsLeft = 2;
  const run = await stage.accept([{ id: "write", kind: "conflicting", retries: 0 }]);
  expect(await stage.work(run)).toMatchObject({ end: { status: "completed" } });
  expect(await stage.rows(run, "write")).toEqual([{ is: "stored" }]);
});

test("a run whose version is gone fails and says so", async () => {
  const ownerId = await insertUser(stage.database);
  const workflow = await insertWorkflow(stage.database, { ownerId });
  await withReplica(
    async () => ({ status: "completed" }),
    async (replica) => {
      const { db } = stage.database;
      await db.delete(workflowVersions).where(eq(workflowVersions.workflowId, workflow));
      const runId = await accept(replica, workflow);
      replica.runs.wake();
      const record = await untilEnded(runId);
      expect(record).toMatchObject({ status: "failed", error: { code: "version_missing" } });
    },
  );
}, 90_000);
