import type { JsonObject } from "../../../lib/json/json.ts";
import type { RowChunk } from "../../rows/row.ts";
import type { WorkflowStore } from "../../workflow-store.ts";
import type { DiscardReason, RunTrigger } from "../run.ts";

/** What the verbs of runs work with. */
export type RunStore = Pick<
  WorkflowStore,
  "settings" | "database" | "clock" | "isLicensed" | "discards" | "wakeRuns" | "wakeEvents"
>;

/** Rows that one run may collect by coalescing. */
export const COALESCED_ROWS_MAX = 10_000;
/** With `allowLoop` a chain may have this many workflows. */
export const CHAIN_MAX = 10;

/** What makes a trigger the same as an earlier one, for a day or from `since` on. */
export interface RunFact {
  /** The idempotency key, the tick's time, or the event's id; up to 255 characters. */
  readonly fact: string;
  /** SHA-256 of a webhook's body. */
  readonly bodyHash?: string | undefined;
  /**
   * A discarded trigger counts as seen too: for ticks and events, which any replica may try again. A sender of webhooks
   * must be able to repeat what was refused.
   */
  readonly remembersDiscard?: boolean | undefined;
  /**
   * When the trigger can have come for the first time, Unix milliseconds, for one that may come again much later: an
   * event that is redriven, a step that is repeated. Up to a month ago.
   */
  readonly since?: number | undefined;
}

/** A trigger that wants a run. */
export interface RunRequest {
  readonly trigger: RunTrigger;
  /** `manual`, `retry`, `webhook`, `step`, or the trigger's key. */
  readonly triggerKey: string;
  /** The trigger's rows (`packRows`). */
  readonly rows: readonly RowChunk[];
  /** The workflows whose runs led to this trigger, the first one first; empty unless given. */
  readonly chain?: readonly string[] | undefined;
  readonly fact?: RunFact | undefined;
  /** While one run of the same trigger key is queued, these rows join it, up to `COALESCED_ROWS_MAX`. */
  readonly coalesce?: boolean | undefined;
  /** The workflow may start although its chain already has it, up to `CHAIN_MAX` deep. */
  readonly allowLoop?: boolean | undefined;
  /** Discarded as `overlap` while a run of the same trigger key is queued. */
  readonly atMostOneWaiting?: boolean | undefined;
  /** Rejects with `run_active` while any run of the workflow is queued or running; for people, who see what runs. */
  readonly onlyWhenFree?: boolean | undefined;
  /** Also for a workflow that is disabled: whoever starts it by hand tests it. */
  readonly evenDisabled?: boolean | undefined;
  readonly retryOf?: string | undefined;
  readonly retryFrom?: string | undefined;
}

/** An accepted run. */
export interface AcceptedRun {
  readonly runId: string;
  readonly status: "queued" | "running";
  readonly rowsReceived: number;
}

/** What became of a trigger. */
export type Acceptance =
  | (AcceptedRun & { readonly kind: "accepted" })
  /** Its rows joined a run that waits. */
  | (AcceptedRun & { readonly kind: "joined" })
  /** The same fact came before. */
  | {
      readonly kind: "repeated";
      /** Null when the earlier trigger was discarded. */
      readonly runId: string | null;
      readonly bodyHash: string | null;
      /** `answerOf` of the first time. */
      readonly answer: JsonObject | null;
    }
  | { readonly kind: "discarded"; readonly reason: DiscardReason }
  /** There is no such workflow, or it is disabled: the caller's fault, not counted. */
  | { readonly kind: "unavailable" };

/** What a webhook is answered for an accepted run; stored with the fact, so that a repetition gets the same. */
export function answerOf(workflowId: string, run: AcceptedRun): JsonObject {
  return {
    runId: run.runId,
    status: run.status,
    pipelineId: workflowId,
    rowsReceived: run.rowsReceived,
  };
}

/** To be called after the commit: counts what was discarded, and wakes the worker for a run that may begin. */
export function announceAcceptances(
  store: Pick<RunStore, "discards" | "wakeRuns">,
  acceptances: readonly Acceptance[],
): void {
  let starts = false;
  for (const acceptance of acceptances) {
    if (acceptance.kind === "discarded") store.discards[acceptance.reason] += 1;
    else if (acceptance.kind === "accepted") starts ||= acceptance.status === "running";
  }
  if (starts) store.wakeRuns();
}
