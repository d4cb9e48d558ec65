import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { users } from "../../../db/tables/users.ts";
import {
  activeRuns,
  workflowRuns,
  workflows,
  workflowVersions,
} from "../../../db/tables/workflows.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { ClaimedRun, RunTrigger } from "../run.ts";

/** A run that a worker begins, with its version of the definition as it was stored. */
export interface BegunRun extends Omit<ClaimedRun, "definition"> {
  /** Undefined when the version is gone. */
  readonly definition: JsonObject | undefined;
  /** The workflow's owner when the run was accepted. */
  readonly acceptedFor: string | null;
  readonly hasActiveOwner: boolean;
}

export interface Beginning {
  readonly runId: string;
  readonly jobId: string;
  /** Confirms the claim in the same transaction. */
  readonly confirm: (transaction: Db) => Promise<void>;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Reads a claimed run and counts the worker that begins it, in the caller's transaction. Undefined when the job's run is
 * not running any more.
 */
export async function beginRun(
  transaction: Db,
  beginning: Beginning,
): Promise<BegunRun | undefined> {
  const begun = await begin(transaction, beginning);
  // Last, as a stop locks it.
  await beginning.confirm(transaction);
  return begun;
}

async function begin(
  transaction: Db,
  { runId, jobId, now }: Beginning,
): Promise<BegunRun | undefined> {
  const at = new Date(now);
  const [active] = await transaction
    .update(activeRuns)
    .set({ startedAt: sql`coalesce(${activeRuns.startedAt}, ${at.toISOString()}::timestamptz)` })
    .where(
      and(
        eq(activeRuns.runId, runId),
        eq(activeRuns.status, "running"),
        eq(activeRuns.jobId, jobId),
      ),
    )
    .returning();
  if (active === undefined) return undefined;
  const { day, startedAt } = active;
  const [record] = await transaction
    .update(workflowRuns)
    .set({ startedAt, attempts: sql`${workflowRuns.attempts} + 1` })
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)))
    .returning();
  if (record === undefined) throw new Error(`the run ${runId} has no record`);
  const { id, workflowId, workflowName, version, trigger, rowsReceived, chain } = record;
  const workflow = await readWorkflow(transaction, workflowId, version);
  return {
    ...{ id, day, workflowId, workflowName, version, rowsReceived, chain },
    trigger: trigger as RunTrigger,
    definition: workflow?.definition,
    ownerId: workflow?.ownerId ?? null,
    acceptedFor: record.ownerId,
    hasActiveOwner: workflow?.ownerState === "active",
    keyId: workflow?.keyId ?? null,
    keepRows: workflow?.keepRows ?? "all",
    startedAt: (startedAt ?? at).getTime(),
    timeoutSeconds: active.timeoutSeconds,
    attempts: record.attempts,
    retryOf: record.retryOf,
    retryFrom: record.retryFrom,
  };
}

/** The run's version of the definition; owner, key and what is kept are those of now. */
async function readWorkflow(transaction: Db, workflowId: string, version: number) {
  const [found] = await transaction
    .select({
      definition: workflowVersions.definition,
      ownerId: workflows.ownerId,
      ownerState: users.state,
      keyId: workflows.keyId,
      keepRows: workflows.keepRows,
    })
    .from(workflows)
    .innerJoin(
      workflowVersions,
      and(eq(workflowVersions.workflowId, workflows.id), eq(workflowVersions.version, version)),
    )
    .leftJoin(users, eq(users.id, workflows.ownerId))
    .where(eq(workflows.id, workflowId));
  return found;
}
