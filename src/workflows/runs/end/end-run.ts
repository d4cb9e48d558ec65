import { and, asc, eq, inArray, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import {
  activeRuns,
  workflowQueues,
  workflowRuns,
  workflowSteps,
  workflows,
} from "../../../db/tables/workflows.ts";
import { fireEvents } from "../../../queue/internal-events.ts";
import { dropRunRows, keepsRows } from "../../rows/drop-run-rows.ts";
import { type LockedQueue, lockQueue } from "../accept/lock-queue.ts";
import type { RunEnd } from "../run.ts";
import { promoteNext } from "./promote-run.ts";

export interface Ending {
  readonly runId: string;
  readonly workflowId: string;
  readonly end: RunEnd;
  /** Confirms the worker's claim in the same transaction; rejects when it is lost. */
  readonly confirm: (transaction: Db) => Promise<void>;
  /** Unix milliseconds. */
  readonly now: number;
}

export interface Ended {
  /** The next run is `running` now: its job waits for a worker. */
  readonly isNextRunning: boolean;
}

type RunRecord = typeof workflowRuns.$inferSelect;

/**
 * Ends a run that a worker has claimed and makes the next one `running`, in the caller's transaction, with the event
 * that says so. Resolves with undefined when the run is not running any more.
 */
export async function endRun(transaction: Db, ending: Ending): Promise<Ended | undefined> {
  const { workflowId } = ending;
  const queue = await lockQueue(transaction, workflowId);
  const ended = queue && (await close(transaction, queue, ending));
  // Last, as a stop does it.
  await ending.confirm(transaction);
  return ended;
}

async function close(
  transaction: Db,
  queue: LockedQueue,
  { runId, workflowId, end, now }: Ending,
): Promise<Ended | undefined> {
  const record = await closeRun(transaction, { runId, end, now });
  if (record === undefined) return undefined;
  await countEnd(transaction, queue, end, now);
  await fireEnd(transaction, record, { end, now });
  return { isNextRunning: await promoteNext(transaction, workflowId, now) };
}

/** How a run is closed: by its worker, or by a stop. */
export type Closing = RunEnd | { readonly status: "stopped" };

/** Takes a run out of the active ones and records its end; undefined when it is not active. */
export async function closeRun(
  transaction: Db,
  { runId, end, now }: { readonly runId: string; readonly end: Closing; readonly now: number },
): Promise<RunRecord | undefined> {
  const [active] = await transaction
    .delete(activeRuns)
    .where(eq(activeRuns.runId, runId))
    .returning();
  if (active === undefined) return undefined;
  const { day } = active;
  await closeSteps(transaction, { day, runId, end, now });
  const isFailed = end.status === "failed";
  const isStep = sql`${workflowSteps.day} = ${day} and ${workflowSteps.runId} = ${runId}`;
  const [record] = await transaction
    .update(workflowRuns)
    .set({
      status: end.status,
      endedAt: new Date(now),
      failedStep: isFailed ? end.error.step : null,
      error: isFailed ? { ...end.error } : null,
      brokeAt: end.status === "stopped" ? null : (end.brokeAt ?? null),
      usage: sql`(select jsonb_object_agg(name, total) from (
        select part.key as name, sum(part.value::numeric) as total
        from ${workflowSteps}, jsonb_each(usage) as part
        where ${isStep} and jsonb_typeof(part.value) = 'number' group by part.key) as sums)`,
    })
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)))
    .returning();
  if (record !== undefined) await dropUnkept(transaction, record);
  return record;
}

async function dropUnkept(transaction: Db, { id, day, workflowId, status }: RunRecord) {
  const [workflow] = await transaction
    .select({ keepRows: workflows.keepRows })
    .from(workflows)
    .where(eq(workflows.id, workflowId));
  if (workflow === undefined || keepsRows(workflow.keepRows, status)) return;
  await dropRunRows(transaction, { ids: [id], day });
}

/** Ends the steps that nobody ended: the run was stopped, or its time was over, or its workers were lost. */
async function closeSteps(
  transaction: Db,
  { day, runId, end, now }: { day: string; runId: string; end: Closing; now: number },
): Promise<void> {
  const isOpen = and(
    eq(workflowSteps.day, day),
    eq(workflowSteps.runId, runId),
    inArray(workflowSteps.status, ["pending", "running"]),
  );
  // In the order in which a worker skips several.
  await transaction
    .select({ stepId: workflowSteps.stepId })
    .from(workflowSteps)
    .where(isOpen)
    .orderBy(asc(workflowSteps.position))
    .for("no key update");
  const endedAt = new Date(now);
  if (end.status === "failed") {
    await transaction
      .update(workflowSteps)
      .set({ status: "failed", endedAt, error: { ...end.error } })
      .where(and(isOpen, eq(workflowSteps.status, "running")));
    await transaction
      .update(workflowSteps)
      .set({ status: "skipped", endedAt, skippedBecause: "the run failed" })
      .where(isOpen);
    return;
  }
  await transaction.update(workflowSteps).set({ status: "stopped", endedAt }).where(isOpen);
}

/** For the alerts: failures count, a completed run resets, a stopped one does neither. */
async function countEnd(
  transaction: Db,
  queue: LockedQueue,
  end: RunEnd,
  now: number,
): Promise<void> {
  const counts =
    end.status === "completed"
      ? { consecutiveFailures: 0, failingSince: null }
      : {
          consecutiveFailures: queue.consecutiveFailures + 1,
          failingSince: queue.failingSince ?? new Date(now),
        };
  await transaction
    .update(workflowQueues)
    .set(counts)
    .where(eq(workflowQueues.workflowId, queue.workflowId));
}

function fireEnd(
  transaction: Db,
  record: RunRecord,
  { end, now }: Pick<Ending, "end" | "now">,
): Promise<void> {
  const { kind } = record.trigger;
  const error = end.status === "failed" ? end.error : undefined;
  const body = {
    workflow_id: record.workflowId,
    workflow_name: record.workflowName,
    run_id: record.id,
    owner_id: record.ownerId,
    trigger: typeof kind === "string" ? kind : "",
    rows_received: record.rowsReceived,
    chain: [...record.chain, record.workflowId],
    failed_step: error?.step ?? null,
    error: error?.message ?? null,
  };
  return fireEvents(transaction, [{ kind: `workflow.${end.status}`, body }], now);
}
