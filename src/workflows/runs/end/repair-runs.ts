import { and, eq, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import { outboxEvents } from "../../../db/tables/outbox.ts";
import { activeRuns } from "../../../db/tables/workflows.ts";
import { enqueue, newJobId } from "../../../queue/enqueue.ts";
import { lockQueue } from "../accept/lock-queue.ts";
import { runJob } from "../run-topic.ts";
import { promoteNext } from "./promote-run.ts";

/** Of workflows that one repair looks after. */
const REPAIRS_MAX = 100;

/**
 * Sets workflows going again whose queue stands still although no rule says so: the job of the running run was given
 * up or is gone, or runs wait while none runs. After a fault of the gateway or a restored backup.
 * @param now Unix milliseconds.
 * @returns the workflows' ids.
 */
export async function repairRuns(db: Db, now: number): Promise<readonly string[]> {
  const stuck = await db.execute<{ id: string }>(sql`
    select distinct active.workflow_id as id from ${activeRuns} as active
    where (active.status = 'running' and ${hasNoJob}) or (active.status = 'queued' and not exists (
      select 1 from ${activeRuns} as running
      where running.workflow_id = active.workflow_id and running.status = 'running'
    ))
    order by 1 limit ${REPAIRS_MAX}`);
  for (const { id } of stuck) {
    await withTransaction(db, (transaction) => repairQueue(transaction, id, now));
  }
  return stuck.map(({ id }) => id);
}

const hasNoJob = sql`not exists (
  select 1 from ${outboxEvents} as job
  where job.id = active.job_id and job.delivered_at is null and job.dead_at is null
)`;

/** Looks again under the queue's lock: it may have gone on in the meantime. */
async function repairQueue(transaction: Db, workflowId: string, now: number): Promise<void> {
  if ((await lockQueue(transaction, workflowId)) === undefined) return;
  const isRunning = and(eq(activeRuns.workflowId, workflowId), eq(activeRuns.status, "running"));
  const [running] = await transaction.select().from(activeRuns).where(isRunning);
  if (running === undefined) {
    await promoteNext(transaction, workflowId, now);
    return;
  }
  const [lost] = await transaction.execute<{ id: string }>(sql`
    select run_id as id from ${activeRuns} as active
    where run_id = ${running.runId} and ${hasNoJob}`);
  if (lost === undefined) return;
  const jobId = newJobId();
  const job = { id: jobId, ...runJob({ run_id: running.runId, workflow_id: workflowId }) };
  await enqueue(transaction, job, now);
  await transaction.update(activeRuns).set({ jobId }).where(eq(activeRuns.runId, running.runId));
}
