import { and, eq } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import {
  activeRuns,
  workflowFacts,
  workflowQueues,
  workflowRows,
  workflowRuns,
} from "../../../db/tables/workflows.ts";
import { enqueue } from "../../../queue/enqueue.ts";
import { MAIN, TRIGGER_STEP } from "../../rows/row-store.ts";
import { runJob } from "../run-topic.ts";
import type { AcceptanceChanges, PlannedRun } from "./acceptance-plan.ts";

/**
 * Stores what was decided over triggers of one workflow. The statements do not wait for each other's answers: one
 * connection does them in this order, and the lock is held for one way to the database instead of six.
 */
export async function storeAcceptances(transaction: Db, changes: AcceptanceChanges): Promise<void> {
  const { queue, now, day, runs, facts, joined } = changes;
  const { workflowId } = queue;
  const at = new Date(now);
  const statements: Promise<unknown>[] = [];
  const add = (statement: PromiseLike<unknown>) => statements.push(Promise.resolve(statement));
  if (runs.length > 0) {
    add(transaction.insert(workflowRuns).values(runs.map((run) => recordOf(run, changes))));
    add(transaction.insert(activeRuns).values(runs.map((run) => activeOf(run, changes))));
  }
  const chunks = changes.rows.flatMap(({ runId, day: runDay, first, chunks: added }) =>
    added.map((chunk, index) => ({
      ...chunk,
      ...{ day: runDay, runId, stepId: TRIGGER_STEP, output: MAIN, chunk: first + index },
    })),
  );
  if (chunks.length > 0) add(transaction.insert(workflowRows).values(chunks));
  if (facts.length > 0) {
    const rows = facts.map((fact) => ({ ...fact, day, workflowId, createdAt: at }));
    add(transaction.insert(workflowFacts).values(rows));
  }
  for (const { runId, day: runDay, rowsReceived, chain } of joined) {
    const isMeant = and(eq(workflowRuns.day, runDay), eq(workflowRuns.id, runId));
    add(transaction.update(workflowRuns).set({ rowsReceived, chain }).where(isMeant));
  }
  const jobs = runs.flatMap(({ id, jobId }) =>
    jobId === null ? [] : [{ id: jobId, ...runJob({ run_id: id, workflow_id: workflowId }) }],
  );
  if (jobs.length > 0) add(enqueue(transaction, jobs, now));
  if (runs.length > 0 || changes.hasDiscarded) {
    const { lastNumber, queued, discarded, hasDiscarded } = changes;
    const counts = { lastNumber, queued, ...(hasDiscarded && { discarded, discardedAt: at }) };
    const isMeant = eq(workflowQueues.workflowId, workflowId);
    add(transaction.update(workflowQueues).set(counts).where(isMeant));
  }
  await Promise.all(statements);
}

function recordOf(
  { id, number, request, rowsReceived, jobId, chain }: PlannedRun,
  { queue, now, day }: AcceptanceChanges,
): typeof workflowRuns.$inferInsert {
  return {
    ...{ id, day, number, rowsReceived, chain },
    workflowId: queue.workflowId,
    workflowName: queue.workflowName,
    ownerId: queue.ownerId,
    version: queue.version,
    status: jobId === null ? "queued" : "running",
    trigger: request.trigger,
    queuedAt: new Date(now),
    retryOf: request.retryOf ?? null,
    retryFrom: request.retryFrom ?? null,
  };
}

function activeOf(
  { id, number, request, jobId }: PlannedRun,
  { queue, now, day }: AcceptanceChanges,
): typeof activeRuns.$inferInsert {
  return {
    ...{ runId: id, day, number, jobId },
    workflowId: queue.workflowId,
    status: jobId === null ? "queued" : "running",
    triggerKey: request.triggerKey,
    queuedAt: new Date(now),
    timeoutSeconds: queue.timeoutSeconds,
  };
}
