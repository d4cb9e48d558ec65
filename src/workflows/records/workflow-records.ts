import type { Db } from "../../db/context.ts";
import type { CheckSchedule } from "../definition/check-triggers.ts";
import type { Trigger } from "../definition/definition.ts";
import type { RowChunk } from "../rows/row.ts";
import type { DiscardReason, RunTrigger } from "../runs/run.ts";
import type { WorkflowSecrets } from "../secrets.ts";
import type { WorkflowStore } from "../workflow-store.ts";

type Schedule = Extract<Trigger, { readonly kind: "schedule" }>;

/** Schedules of workflows, as `workflows/triggers` keeps them. Times in Unix milliseconds. */
export interface ScheduleVerbs {
  readonly checkSchedule: CheckSchedule;
  /** The next five times of a schedule that was saved earlier. */
  readonly nextTimes: (trigger: Schedule, savedAt: number, now: number) => readonly Date[];
  /** In the transaction that changes the triggers or `enabled` of a workflow, after that change. */
  readonly saveSchedules: (
    transaction: Db,
    workflowId: string,
    triggers: readonly Trigger[],
    now: number,
  ) => Promise<void>;
}

/** A run that somebody starts, as the queue takes it. */
export interface StartRequest {
  readonly trigger: RunTrigger;
  readonly triggerKey: "manual";
  readonly rows: readonly RowChunk[];
  /** Rejects with `run_active` while a run of the workflow is queued or running. */
  readonly onlyWhenFree: true;
  /** Also a disabled workflow: who may change it tests it. */
  readonly evenDisabled: boolean;
}

export interface AcceptedRun {
  readonly runId: string;
  readonly status: "queued" | "running";
  readonly rowsReceived: number;
}

export type Acceptance =
  | (AcceptedRun & { readonly kind: "accepted" | "joined" })
  | { readonly kind: "discarded"; readonly reason: DiscardReason }
  | { readonly kind: "repeated" | "unavailable" };

export interface Stopped {
  /** The runs that were active until now. */
  readonly runIds: readonly string[];
  /** The next run is `running` now: a worker is to look for it after the commit. */
  readonly isNextRunning: boolean;
}

/** Which run is repeated, and from which of its steps on. */
export interface RetryRequest {
  readonly runId: string;
  readonly from: string | undefined;
  readonly trigger: RunTrigger;
  readonly evenDisabled: boolean;
}

/** What `workflows/runs` does with the queue of a workflow, in the caller's transaction. Times in Unix milliseconds. */
export interface RunVerbs {
  readonly acceptRun: (
    transaction: Db,
    workflowId: string,
    request: StartRequest,
  ) => Promise<Acceptance>;
  readonly retryRun: (transaction: Db, request: RetryRequest) => Promise<Acceptance>;
  readonly stopRun: (transaction: Db, runId: string, now: number) => Promise<Stopped>;
  readonly stopWorkflow: (transaction: Db, workflowId: string, now: number) => Promise<Stopped>;
}

/** What the verbs of this folder work with. */
export interface WorkflowRecords extends WorkflowStore {
  readonly schedules: ScheduleVerbs;
  readonly runs: RunVerbs;
  readonly secrets: WorkflowSecrets;
  /** The names of the file connections. */
  readonly folders: () => readonly string[];
}
