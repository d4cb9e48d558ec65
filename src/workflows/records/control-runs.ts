import type { AnyActor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { mayChange } from "../../knowledge/rights.ts";
import { packRows } from "../rows/pack-rows.ts";
import type { Row, RowChunk } from "../rows/row.ts";
import type { AcceptedRun } from "../runs/accept/acceptance.ts";
import type { Stopped } from "../runs/control/stop-runs.ts";
import { readRun } from "./find-run.ts";
import { readWorkflow, refuseRestrictedKey, type WorkflowRow } from "./workflow.ts";
import type { WorkflowRecords } from "./workflow-records.ts";

/**
 * Starts a run by hand with these rows. Rejects with `not_found`, with `run_active` while one is queued or running, and
 * with the reason why nothing may start.
 */
export async function startRun(
  records: WorkflowRecords,
  actor: AnyActor,
  {
    id,
    rows,
    chain,
  }: { readonly id: string; readonly rows: readonly Row[]; readonly chain: readonly string[] },
): Promise<AcceptedRun> {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows(rows)) chunks.push(chunk);
  const userId = actor.caller.ownerId;
  const frame = { action: "workflow.start", targetKind: "workflow", targetId: id } as const;
  const run = await change(records, actor, frame, async (transaction) => {
    const row = await readWorkflow(transaction, id, actor.caller);
    refuseDisabled(row, actor.caller);
    const start = { workflowId: id, rows: chunks, userId, chain };
    const result = await records.runs.startRun(transaction, start);
    return { result, details: { name: row.name, run_id: result.runId } };
  });
  if (run.status === "running") records.wakeRuns();
  return run;
}

/** Repeats a run from its failed step on, or from a named one, as a new run. Rejects as `startRun`. */
export async function retryRun(
  records: WorkflowRecords,
  actor: AnyActor,
  { runId, from }: { readonly runId: string; readonly from: string | undefined },
): Promise<AcceptedRun & { readonly workflowId: string }> {
  const { workflowId } = await records.database.ask((db) => readRun(db, actor.caller, runId));
  const userId = actor.caller.ownerId;
  const frame = { action: "workflow_run.retry", ...target(runId) } as const;
  const run = await change(records, actor, frame, async (transaction) => {
    const row = await readWorkflow(transaction, workflowId, actor.caller);
    refuseDisabled(row, actor.caller);
    const result = await records.runs.retryRun(transaction, { runId, from, userId });
    return { result, details: { name: row.name, run_id: result.runId, from: from ?? null } };
  });
  if (run.status === "running") records.wakeRuns();
  return { ...run, workflowId };
}

/** Who may change a disabled workflow tests it; for all others it does not start. */
function refuseDisabled(row: WorkflowRow, caller: AnyCaller): void {
  if (row.enabled || mayChange(row, caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "The workflow is disabled. Its owner or an administrator enables it.",
  );
}

/** Stops a run for good. One that has ended stays as it is. Rejects with `not_found`. */
export async function stopRun(
  records: WorkflowRecords,
  actor: AnyActor,
  runId: string,
): Promise<void> {
  refuseRestrictedKey(actor.caller);
  const run = await records.database.ask((db) => readRun(db, actor.caller, runId));
  const frame = { action: "workflow_run.stop", ...target(runId) } as const;
  const stopped = await change(records, actor, frame, async (transaction) => {
    const result = await records.runs.stopRun(transaction, runId, records.clock.now());
    const details = { workflow_id: run.workflowId, name: run.workflowName };
    return { result, details: result.runIds.length > 0 ? details : null };
  });
  wakeAfter(records, stopped);
}

/** Stops the running and all queued runs of a workflow; resolves with their number. Rejects with `not_found`. */
export async function stopRuns(
  records: WorkflowRecords,
  actor: AnyActor,
  id: string,
): Promise<number> {
  refuseRestrictedKey(actor.caller);
  const frame = { action: "workflow.stop", targetKind: "workflow", targetId: id } as const;
  const stopped = await change(records, actor, frame, async (transaction) => {
    const row = await readWorkflow(transaction, id, actor.caller);
    const result = await records.runs.stopWorkflow(transaction, id, records.clock.now());
    const runs = result.runIds.length;
    return { result, details: runs > 0 ? { name: row.name, runs } : null };
  });
  wakeAfter(records, stopped);
  return stopped.runIds.length;
}

function target(runId: string) {
  return { targetKind: "workflow_run", targetId: runId } as const;
}

function wakeAfter({ wakeRuns }: WorkflowRecords, { isNextRunning }: Stopped): void {
  if (isNextRunning) wakeRuns();
}
