import { ServiceError } from "../../../core/service-error.ts";
import type { Db } from "../../../db/context.ts";
import type { RowChunk } from "../../rows/row.ts";
import { type AcceptStore, acceptRun } from "../accept/accept-runs.ts";
import type { Acceptance, AcceptedRun } from "../accept/acceptance.ts";

export interface ManualStart {
  readonly workflowId: string;
  /** By `chunksOf`. */
  readonly rows: readonly RowChunk[];
  /** The user who starts it; expressions see it as `trigger.user_id`. */
  readonly userId: string;
  /** The workflows whose runs led to the call; empty where a person makes it. */
  readonly chain?: readonly string[] | undefined;
}

/**
 * Starts a workflow by hand, in the caller's transaction; also a disabled one, which is tried out like this. Rejects with `run_active` while a run is queued or running,
 * and with the reason why nothing may start. The caller has checked that the user may start it, and wakes the worker
 * after the commit.
 */
export async function startRun(
  transaction: Db,
  store: AcceptStore,
  { workflowId, rows, userId, chain }: ManualStart,
): Promise<AcceptedRun> {
  const acceptance = await acceptRun(transaction, store, workflowId, {
    trigger: { kind: "manual", user_id: userId },
    triggerKey: "manual",
    rows,
    chain,
    onlyWhenFree: true,
    evenDisabled: true,
  });
  return acceptedOf(acceptance);
}

/** The run of a start that somebody waits for. Throws the `ServiceError` that says why there is none. */
export function acceptedOf(acceptance: Acceptance): AcceptedRun {
  switch (acceptance.kind) {
    case "accepted":
    case "joined":
      return acceptance;
    case "discarded":
      if (acceptance.reason === "loop") throw loopError();
      throw acceptance.reason === "license"
        ? new ServiceError("license_expired", "No license is in force: nothing starts.")
        : new ServiceError(
            "insufficient_permission",
            "The workflow's owner is deleted or disabled, so that its runs do not start. An administrator enables the owner, or takes the workflow over.",
          );
    case "repeated":
    case "unavailable":
      throw new ServiceError(
        "not_found",
        "The workflow is disabled or deleted. Its owner or an administrator enables it.",
      );
  }
}

/** For a call that a run makes. */
export function loopError(): ServiceError {
  return new ServiceError(
    "workflow_loop",
    "The workflow is already in the chain of runs that led to this call; a workflow may not start itself. 'allow_loop' of its webhook permits it, ten deep.",
  );
}
