import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import {
  workflowRows,
  workflowRuns,
  workflowSteps,
  workflows,
  workflowVersions,
} from "../../../src/db/tables/workflows.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { scopeOf } from "../../../src/workflows/execute/run-scope.ts";
import { dropRunRows } from "../../../src/workflows/rows/drop-run-rows.ts";
import { acceptRunNow, chunksOf } from "../../../src/workflows/runs/accept/accept-runs.ts";
import { retryRun } from "../../../src/workflows/runs/control/retry-run.ts";
import { startRun } from "../../../src/workflows/runs/control/start-run.ts";
import { stopWorkflow } from "../../../src/workflows/runs/control/stop-runs.ts";
import { endRun } from "../../../src/workflows/runs/end/end-run.ts";
import type { ClaimedRun } from "../../../src/workflows/runs/run.ts";
import { dayOfRun } from "../../../src/workflows/runs/run-id.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { readPlainDefinition } from "../../support/workflows/plain-definition.ts";
import {
  insertUser,
  insertWorkflow,
  openRunStage,
  type RunStage,
  runsOf,
} from "../../support/workflows/run-stage.ts";

const STEPS: readonly JsonObject[] = [
  { id: "take", kind: "input" },
  { id: "check", kind: "if", condition: "row.a > 1" },
  { id: "left", kind: "map", from: ["check"] },
  { id: "right", kind: "map", from: ["check.else"] },
  { id: "store", kind: "dataset_write", from: ["left", "right"] },
];

let database: Database;
let stage: RunStage;
let owner: string;
let workflow: string;

beforeAll(async () => {
  database = await openTestDatabase();
  owner = await insertUser(database);
  stage = openRunStage(database);
});
beforeEach(async () => {
  const definition = { triggers: [], steps: STEPS };
  workflow = await insertWorkflow(database, { ownerId: owner, definition });
});
afterAll(() => database.close());

const retry = (runId: string, from?: string) =>
  withTransaction(database.db, (transaction) =>
    retryRun(transaction, stage.store, {
      ...{ runId, from, userId: owner, readDefinition: readPlainDefinition },
      readsTrigger: ({ kind }) => kind === "input",
    }),
  );

/** A run that failed in `left`, with what it stored. */
async function failedRun(): Promise<string> {
  const acceptance = await acceptRunNow(stage.store, workflow, {
    trigger: { kind: "webhook" },
    triggerKey: "webhook",
    chain: ["wf_before"],
    rows: await chunksOf([{ a: 1 }, { a: 2 }]),
  });
  if (acceptance.kind !== "accepted") throw new Error(acceptance.kind);
  const { runId } = acceptance;
  const day = dayOfRun(runId) ?? "";
  const step = { day, runId, kind: "map" };
  await database.db.insert(workflowSteps).values([
    { ...step, stepId: "take", position: 0, status: "completed" },
    { ...step, stepId: "check", position: 1, status: "completed" },
    { ...step, stepId: "left", position: 2, status: "failed" },
    { ...step, stepId: "right", position: 3, status: "completed" },
    { ...step, stepId: "store", position: 4, status: "skipped" },
  ]);
  await endFailed(runId);
  return runId;
}

function endFailed(runId: string): Promise<unknown> {
  const error = { step: "left", code: "x", message: "x" };
  return withTransaction(database.db, (transaction) =>
    endRun(transaction, {
      ...{ runId, workflowId: workflow, end: { status: "failed", error }, now: Date.now() },
      confirm: async () => undefined,
    }),
  );
}

async function change(steps: readonly JsonObject[]): Promise<void> {
  const definition = { triggers: [], steps };
  await database.db
    .update(workflows)
    .set({ definition, version: 2 })
    .where(eq(workflows.id, workflow));
  await database.db
    .insert(workflowVersions)
    .values({ workflowId: workflow, version: 2, definition });
}
const changed = (id: string, fields: JsonObject) =>
  STEPS.map((step) => (step["id"] === id ? { ...step, ...fields } : step));

describe("a retry", () => {
  test("is a new run from the failed step, with the rows and the chain of the old one", async () => {
    const runId = await failedRun();
    const retried = await retry(runId);
    expect(retried).toMatchObject({ status: "running", rowsReceived: 2 });
    const [, run] = await runsOf(database, workflow);
    expect(run).toMatchObject({
      ...{ id: retried.runId, retryOf: runId, retryFrom: "left", rowsReceived: 2, version: 1 },
      ...{ chain: ["wf_before"], trigger: { kind: "retry", of: { kind: "webhook" } } },
    });
    const rows = await database.db
      .select({ rows: workflowRows.rows })
      .from(workflowRows)
      .where(eq(workflowRows.runId, retried.runId));
    expect(rows).toEqual([{ rows: 2 }]);
    await expect(retry(runId)).rejects.toMatchObject({ code: "run_active", status: 409 });
  });

  test("of a retry sees what started the first run, as that one did", async () => {
    const first = await failedRun();
    const { runId } = await retry(first);
    await endFailed(runId);
    await retry(runId, "take");
    const [, , again] = await runsOf(database, workflow);
    expect(again?.trigger).toEqual({
      ...{ kind: "retry", run_id: runId, user_id: owner, of: { kind: "webhook" } },
    });
    const { trigger } = scopeOf({ trigger: again?.trigger, startedAt: 0 } as ClaimedRun);
    expect(trigger).toEqual({ kind: "webhook" });
  });

  test("runs the current version when the steps before are unchanged", async () => {
    const runId = await failedRun();
    await change(changed("left", { fields: { b: "1" } }));
    await retry(runId);
    const [, run] = await runsOf(database, workflow);
    expect(run).toMatchObject({ version: 2, retryFrom: "left" });
  });

  test("is refused when a step before was changed, and says from where it goes", async () => {
    const runId = await failedRun();
    await change(changed("check", { condition: "row.a > 2" }));
    await expect(retry(runId)).rejects.toMatchObject({
      ...{ code: "changed_meanwhile", status: 409 },
      message: expect.stringContaining("Retry from 'check'"),
    });
    expect(await retry(runId, "check")).toMatchObject({ status: "running" });
  });

  test.each([
    ["store", "'left' before it did not complete"],
    ["nothing", "no step 'nothing'"],
  ])("from %s is refused: %s", async (from, message) => {
    const runId = await failedRun();
    await expect(retry(runId, from)).rejects.toMatchObject({
      ...{ code: "invalid_value", param: "from", message: expect.stringContaining(message) },
    });
    expect(await runsOf(database, workflow)).toHaveLength(1);
  });

  test("of a run whose rows are gone is refused", async () => {
    const runId = await failedRun();
    await database.db
      .update(workflowRuns)
      .set({ rowsDropped: true })
      .where(eq(workflowRuns.id, runId));
    await expect(retry(runId)).rejects.toMatchObject({ code: "changed_meanwhile" });
    await expect(retry(runId, "take")).rejects.toMatchObject({ code: "changed_meanwhile" });
  });

  test("of a run whose rows went with their day is refused", async () => {
    const runId = await failedRun();
    const now = stage.store.clock.now();
    const later = { ...stage.store, clock: { now: () => now + 8 * 86_400_000 } };
    const retrying = withTransaction(database.db, (transaction) =>
      retryRun(transaction, later, {
        ...{ runId, userId: owner, readDefinition: readPlainDefinition },
        readsTrigger: ({ kind }) => kind === "input",
      }),
    );
    await expect(retrying).rejects.toMatchObject({ code: "changed_meanwhile" });
  });

  test.each([["left"], ["take"]])(
    "from %s of a run whose rows are not stored is refused, though its record knows nothing of it",
    async (from) => {
      const runId = await failedRun();
      await database.db.delete(workflowRows).where(eq(workflowRows.runId, runId));
      await expect(retry(runId, from)).rejects.toMatchObject({
        ...{ code: "changed_meanwhile", status: 409 },
        message: expect.stringContaining("Start the workflow again"),
      });
      expect(await runsOf(database, workflow)).toHaveLength(1);
    },
  );

  test("is refused when the rows of a step before are not stored", async () => {
    const runId = await failedRun();
    const outputs = [{ name: "main", rows: 1, bytes: 10 }];
    await database.db
      .update(workflowSteps)
      .set({ outputs })
      .where(and(eq(workflowSteps.runId, runId), eq(workflowSteps.stepId, "check")));
    await expect(retry(runId)).rejects.toMatchObject({ code: "changed_meanwhile" });
  });

  test("of a run whose rows are gone begins anew where it needs none of them", async () => {
    const runId = await failedRun();
    await withTransaction(database.db, (transaction) =>
      dropRunRows(transaction, { ids: [runId], day: dayOfRun(runId) ?? "" }),
    );
    await change(changed("take", { kind: "dataset_read", dataset: "ds_x" }));
    await expect(retry(runId, "check")).rejects.toMatchObject({ code: "changed_meanwhile" });
    expect(await retry(runId, "take")).toMatchObject({ status: "running", rowsReceived: 0 });
  });

  test("of an unknown run, or of one that has not ended, is refused", async () => {
    await expect(retry("run_0000aaaaaaaaaaaaaaaaaaaa")).rejects.toMatchObject({
      code: "not_found",
    });
    await expect(retry("nothing")).rejects.toMatchObject({ code: "not_found" });
    const start = () =>
      withTransaction(database.db, (transaction) =>
        startRun(transaction, stage.store, {
          workflowId: workflow,
          rows: [],
          userId: owner,
        }),
      );
    const { runId } = await start();
    await expect(retry(runId)).rejects.toMatchObject({ code: "run_active" });
    await expect(start()).rejects.toMatchObject({ code: "run_active" });
    await withTransaction(database.db, (transaction) =>
      stopWorkflow(transaction, workflow, Date.now()),
    );
    expect(await start()).toMatchObject({ status: "running" });
  });
});

test("of 50 starts by hand at once one is accepted, and the others leave no trace", async () => {
  const start = () =>
    withTransaction(database.db, (transaction) =>
      startRun(transaction, stage.store, {
        workflowId: workflow,
        rows: [],
        userId: owner,
      }),
    );
  const starts = await Promise.allSettled(Array.from({ length: 50 }, start));
  const refused = starts.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  expect(refused).toHaveLength(49);
  expect(refused.every(({ code, status }) => code === "run_active" && status === 409)).toBe(true);
  expect(await runsOf(database, workflow)).toMatchObject([{ number: 1, status: "running" }]);
});
