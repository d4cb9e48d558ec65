import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import {
  activeRuns,
  workflowQueues,
  workflowRuns,
  workflowSteps,
} from "../../../db/tables/workflows.ts";
import { withdrawJobs } from "../../../queue/end-jobs.ts";
import type { RunError } from "../run.ts";

const ERROR: RunError = {
  step: null,
  code: "restored",
  message:
    "The installation was restored from a backup that was made before this run had ended. What it did since is unknown: retry it if its effects are still wanted.",
};

/**
 * Stops the runs that were queued or running when a backup was made, in the transaction that restores it. Since then
 * they may have ended and had their effects, which must not happen again without anybody knowing.
 *
 * @param now Unix milliseconds.
 */
export async function endRestoredRuns(transaction: Db, now: number): Promise<void> {
  const [schema] = await transaction.execute<{ is_known: boolean }>(
    sql`select to_regclass('workflow_active_runs') is not null as is_known`,
  );
  // A backup of an earlier release is restored with its schema, and migrated at the next start.
  if (schema?.is_known !== true) return;
  const at = sql`${new Date(now).toISOString()}::timestamptz`;
  const days = await transaction.execute<{ day: string }>(
    sql`select distinct to_char(day, 'YYYY-MM-DD') as day from workflow_active_runs order by 1`,
  );
  for (const { day } of days) {
    // A literal: only then does the database leave the partitions of all other days, and their indexes, unlocked.
    const isActive = (id: string) =>
      sql.raw(
        `day = '${day}' and ${id} in (select run_id from workflow_active_runs where day = '${day}')`,
      );
    await transaction.execute(sql`
      update ${workflowRuns} set status = 'stopped', ended_at = ${at},
        error = ${JSON.stringify(ERROR)}::text::jsonb
      where ${isActive("id")}`);
    await transaction.execute(sql`
      update ${workflowSteps} set status = 'stopped', ended_at = ${at}
      where status in ('pending', 'running') and ${isActive("run_id")}`);
  }
  const removed = await transaction.delete(activeRuns).returning({ jobId: activeRuns.jobId });
  await transaction.update(workflowQueues).set({ queued: 0 });
  const jobs = removed.flatMap(({ jobId }) => (jobId === null ? [] : [jobId]));
  if (jobs.length > 0) await withdrawJobs(transaction, jobs, { reason: ERROR.message, now });
}
