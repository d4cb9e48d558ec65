import { and, eq } from "drizzle-orm";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Db } from "../../../src/db/context.ts";
import { activeRuns, workflowRuns, workflows } from "../../../src/db/tables/workflows.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type {
  AcceptedRun,
  RunVerbs,
  Stopped,
} from "../../../src/workflows/records/workflow-records.ts";
import type { RowChunk } from "../../../src/workflows/rows/row.ts";
import { insertChunks, MAIN, TRIGGER_STEP } from "../../../src/workflows/rows/row-store.ts";
import { newRunId, utcDay } from "../../../src/workflows/runs/run-id.ts";

/** The queue of workflows as far as starting and stopping by hand needs it: one run at a time, none waits. */
export const plainRuns: RunVerbs = {
  async startRun(transaction, { workflowId, rows, userId }) {
    const workflow = await findWorkflow(transaction, workflowId);
    const [active] = await transaction
      .select()
      .from(activeRuns)
      .where(eq(activeRuns.workflowId, workflowId));
    if (active !== undefined) {
      throw new ServiceError("run_active", "A run of this workflow is queued or running.");
    }
    return insertRun(transaction, workflow, {
      trigger: { kind: "manual", user_id: userId },
      rows,
    });
  },
  async retryRun(transaction, { runId, userId }) {
    const [run] = await transaction.select().from(workflowRuns).where(eq(workflowRuns.id, runId));
    const workflow = await findWorkflow(transaction, run?.workflowId ?? "");
    const trigger = { kind: "retry", user_id: userId };
    return insertRun(transaction, workflow, { trigger, rows: [], retryOf: runId });
  },
  stopRun: (transaction, runId, now) =>
    stopWhere(transaction, now, and(eq(activeRuns.runId, runId))),
  stopWorkflow: (transaction, workflowId, now) =>
    stopWhere(transaction, now, and(eq(activeRuns.workflowId, workflowId))),
};

async function findWorkflow(transaction: Db, id: string) {
  const [workflow] = await transaction.select().from(workflows).where(eq(workflows.id, id));
  if (workflow === undefined) throw new ServiceError("not_found", "There is no such workflow.");
  return workflow;
}

async function insertRun(
  transaction: Db,
  workflow: typeof workflows.$inferSelect,
  given: {
    readonly trigger: JsonObject;
    readonly rows: readonly RowChunk[];
    readonly retryOf?: string;
  },
): Promise<AcceptedRun> {
  const now = Date.now();
  const runId = newRunId(now);
  const day = utcDay(now);
  const at = new Date(now);
  const rowsReceived = given.rows.reduce((sum, { rows }) => sum + rows, 0);
  await transaction.insert(workflowRuns).values({
    ...{ id: runId, day, workflowId: workflow.id, workflowName: workflow.name },
    ...{ ownerId: workflow.ownerId, version: workflow.version, status: "running", number: now },
    ...{ trigger: given.trigger, rowsReceived, queuedAt: at, retryOf: given.retryOf ?? null },
  });
  await transaction.insert(activeRuns).values({
    ...{ runId, day, workflowId: workflow.id, status: "running", number: now },
    ...{ triggerKey: "manual", queuedAt: at, timeoutSeconds: workflow.timeoutSeconds },
  });
  await insertChunks(
    transaction,
    { day, runId, stepId: TRIGGER_STEP, output: MAIN },
    given.rows,
    0,
  );
  return { runId, status: "running", rowsReceived };
}

async function stopWhere(
  transaction: Db,
  now: number,
  condition: ReturnType<typeof and>,
): Promise<Stopped> {
  const gone = await transaction.delete(activeRuns).where(condition).returning();
  for (const { day, runId } of gone) {
    await transaction
      .update(workflowRuns)
      .set({ status: "stopped", endedAt: new Date(now) })
      .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)));
  }
  return { runIds: gone.map(({ runId }) => runId), isNextRunning: false };
}
