import { eq, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import {
  activeRuns,
  workflowQueues,
  workflowRuns,
  workflows,
} from "../../../db/tables/workflows.ts";
import { withdrawJobs } from "../../../queue/end-jobs.ts";
import { dropRunRows, keepsRows } from "../../rows/drop-run-rows.ts";
import { lockQueue } from "../accept/lock-queue.ts";
import { closeRun } from "../end/end-run.ts";
import { promoteNext } from "../end/promote-run.ts";

export interface Stopped {
  /** The runs that were active until now. */
  readonly runIds: readonly string[];
  /** The next run is `running` now: the caller wakes the worker after the commit. */
  readonly isNextRunning: boolean;
}

const NONE: Stopped = { runIds: [], isNextRunning: false };
const REASON = "the run was stopped";

/**
 * Stops one run in the caller's transaction, and makes the next one `running` if it ran. From the commit on nothing that
 * its worker stores counts, and the worker's signal aborts within two seconds. A run that has ended stays as it is.
 * @param now Unix milliseconds.
 */
export async function stopRun(transaction: Db, runId: string, now: number): Promise<Stopped> {
  const [found] = await transaction
    .select({ workflowId: activeRuns.workflowId })
    .from(activeRuns)
    .where(eq(activeRuns.runId, runId));
  if (found === undefined) return NONE;
  const { workflowId } = found;
  await lockQueue(transaction, workflowId);
  // Read again: until the lock was there it may have begun, or ended.
  const [active] = await transaction.select().from(activeRuns).where(eq(activeRuns.runId, runId));
  if (active === undefined) return NONE;
  await stopActive(transaction, active, now);
  if (active.status === "running") {
    return { runIds: [runId], isNextRunning: await promoteNext(transaction, workflowId, now) };
  }
  await transaction
    .update(workflowQueues)
    .set({ queued: sql`${workflowQueues.queued} - 1` })
    .where(eq(workflowQueues.workflowId, workflowId));
  return { runIds: [runId], isNextRunning: false };
}

/**
 * Stops the running and all queued runs of a workflow together, in the caller's transaction.
 * @param now Unix milliseconds.
 */
export async function stopWorkflow(
  transaction: Db,
  workflowId: string,
  now: number,
): Promise<Stopped> {
  const queue = await lockQueue(transaction, workflowId);
  if (queue === undefined) return NONE;
  const at = new Date(now).toISOString();
  // In one statement, because there may be very many. No step of theirs has begun.
  const queued = await transaction.execute<{ id: string; day: string }>(sql`
    with gone as (
      delete from ${activeRuns} where workflow_id = ${workflowId} and status = 'queued'
      returning day, run_id
    )
    update ${workflowRuns} as run set status = 'stopped', ended_at = ${at}::timestamptz
    from gone where run.day = gone.day and run.id = gone.run_id
    returning run.id, run.day::text as day`);
  await dropUnkept(transaction, workflowId, queued);
  await transaction
    .update(workflowQueues)
    .set({ queued: 0 })
    .where(eq(workflowQueues.workflowId, workflowId));
  const [running] = await transaction
    .select()
    .from(activeRuns)
    .where(eq(activeRuns.workflowId, workflowId));
  if (running !== undefined) await stopActive(transaction, running, now);
  const runIds = [...(running === undefined ? [] : [running.runId]), ...queued.map(({ id }) => id)];
  return { runIds, isNextRunning: false };
}

async function dropUnkept(
  transaction: Db,
  workflowId: string,
  stopped: readonly { readonly id: string; readonly day: string }[],
): Promise<void> {
  const [workflow] = await transaction
    .select({ keepRows: workflows.keepRows })
    .from(workflows)
    .where(eq(workflows.id, workflowId));
  if (workflow === undefined || keepsRows(workflow.keepRows, "stopped")) return;
  for (const day of new Set(stopped.map((run) => run.day))) {
    const ids = stopped.filter((run) => run.day === day).map(({ id }) => id);
    await dropRunRows(transaction, { ids, day });
  }
}

async function stopActive(
  transaction: Db,
  { runId, jobId }: Pick<typeof activeRuns.$inferSelect, "runId" | "jobId">,
  now: number,
): Promise<void> {
  await closeRun(transaction, { runId, end: { status: "stopped" }, now });
  // The claim last, as its worker locks it.
  if (jobId !== null) await withdrawJobs(transaction, [jobId], { reason: REASON, now });
}
