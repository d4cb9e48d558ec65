import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { activeRuns, workflowQueues, workflowRuns } from "../../../db/tables/workflows.ts";
import { enqueue, newJobId } from "../../../queue/enqueue.ts";
import { runJob } from "../run-topic.ts";

/**
 * Makes the first queued run of a free workflow `running`, under the queue's lock.
 * @param now Unix milliseconds.
 * @returns whether there was one: the caller wakes the worker after the commit.
 */
export async function promoteNext(
  transaction: Db,
  workflowId: string,
  now: number,
): Promise<boolean> {
  const [next] = await transaction
    .select({ runId: activeRuns.runId, day: activeRuns.day })
    .from(activeRuns)
    .where(and(eq(activeRuns.workflowId, workflowId), eq(activeRuns.status, "queued")))
    .orderBy(asc(activeRuns.number))
    .limit(1);
  if (next === undefined) return false;
  const { runId, day } = next;
  const jobId = newJobId();
  await transaction
    .update(activeRuns)
    .set({ status: "running", jobId })
    .where(eq(activeRuns.runId, runId));
  await transaction
    .update(workflowRuns)
    .set({ status: "running" })
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)));
  await transaction
    .update(workflowQueues)
    .set({ queued: sql`${workflowQueues.queued} - 1` })
    .where(eq(workflowQueues.workflowId, workflowId));
  const job = { id: jobId, ...runJob({ run_id: runId, workflow_id: workflowId }) };
  await enqueue(transaction, job, now);
  return true;
}
