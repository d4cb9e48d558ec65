import type { AnyActor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import { ServiceError } from "../../core/service-error.ts";
import { mayChange } from "../../knowledge/rights.ts";
import { packRows } from "../rows/pack-rows.ts";
import type { Row, RowChunk } from "../rows/row.ts";
import type { DiscardReason } from "../runs/run.ts";
import { readRun } from "./find-run.ts";
import { readWorkflow, refuseRestrictedKey } from "./workflow.ts";
import type { Acceptance, AcceptedRun, Stopped, WorkflowRecords } from "./workflow-records.ts";

/** Says whose the run is; expressions see it as `trigger.user_id`. */
const byHand = ({ caller }: AnyActor) => ({ kind: "manual", user_id: caller.ownerId }) as const;

/**
 * Starts a run by hand with these rows. Rejects with `not_found`, with `run_active` while one is queued or running, and
 * with the reason why nothing may start.
 */
export async function startRun(
  records: WorkflowRecords,
  actor: AnyActor,
  { id, rows }: { readonly id: string; readonly rows: readonly Row[] },
): Promise<AcceptedRun> {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows(rows)) chunks.push(chunk);
  const frame = { action: "workflow.start", targetKind: "workflow", targetId: id } as const;
  const acceptance = await change(records, actor, frame, async (transaction) => {
    const row = await readWorkflow(transaction, id, actor.caller);
    const result = await records.runs.acceptRun(transaction, id, {
      trigger: byHand(actor),
      triggerKey: "manual",
      rows: chunks,
      onlyWhenFree: true,
      evenDisabled: mayChange(row, actor.caller),
    });
    return { result, details: detailsOf(row.name, result) };
  });
  return announced(records, acceptance);
}

/** Repeats a run from its failed step on, or from a named one, as a new run. Rejects as `startRun`. */
export async function retryRun(
  records: WorkflowRecords,
  actor: AnyActor,
  { runId, from }: { readonly runId: string; readonly from: string | undefined },
): Promise<AcceptedRun & { readonly workflowId: string }> {
  const run = await records.database.ask((db) => readRun(db, actor.caller, runId));
  const { workflowId } = run;
  const frame = { action: "workflow_run.retry", ...target(runId) } as const;
  const acceptance = await change(records, actor, frame, async (transaction) => {
    const row = await readWorkflow(transaction, workflowId, actor.caller);
    const result = await records.runs.retryRun(transaction, {
      ...{ runId, from },
      trigger: { kind: "retry", run_id: runId, user_id: actor.caller.ownerId },
      evenDisabled: mayChange(row, actor.caller),
    });
    return { result, details: { ...detailsOf(row.name, result), from: from ?? null } };
  });
  return { ...announced(records, acceptance), workflowId };
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

function detailsOf(name: string, acceptance: Acceptance) {
  return "runId" in acceptance ? { name, run_id: acceptance.runId } : null;
}

function wakeAfter({ wakeRuns }: WorkflowRecords, { isNextRunning }: Stopped): void {
  if (isNextRunning) wakeRuns();
}

function announced(records: WorkflowRecords, acceptance: Acceptance): AcceptedRun {
  if ("runId" in acceptance) {
    if (acceptance.status === "running") records.wakeRuns();
    const { runId, status, rowsReceived } = acceptance;
    return { runId, status, rowsReceived };
  }
  if (acceptance.kind === "discarded") {
    records.discards[acceptance.reason] += 1;
    throw refused(acceptance.reason);
  }
  throw new ServiceError(
    "not_found",
    "The workflow is disabled or deleted. Its owner or an administrator enables it.",
  );
}

function refused(reason: DiscardReason): ServiceError {
  switch (reason) {
    case "queue_full":
      return new ServiceError("queue_full", "The workflow's queue is full. Try again later.");
    case "license":
      return new ServiceError("license_expired", "Without a license no workflow starts.");
    case "owner":
      return new ServiceError(
        "insufficient_permission",
        "The workflow's owner is disabled or deleted. An administrator enables the user or hands the workflow over.",
      );
    default:
      return new ServiceError("run_active", "A run of this workflow is queued or running.");
  }
}
