import type { Db } from "../../db/context.ts";
import type { CheckSchedule } from "../definition/check-triggers.ts";
import type { Trigger } from "../definition/definition.ts";
import type { RowChunk } from "../rows/row.ts";
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

export interface AcceptedRun {
  readonly runId: string;
  readonly status: "queued" | "running";
  readonly rowsReceived: number;
}

export interface Stopped {
  /** The runs that were active until now. */
  readonly runIds: readonly string[];
  /** The next run is `running` now: a worker is to look for it after the commit. */
  readonly isNextRunning: boolean;
}

/** What `workflows/runs` does with the queue of a workflow, in the caller's transaction. Times in Unix milliseconds. */
export interface RunVerbs {
  /** Also starts a disabled workflow. Rejects with `run_active`, and with why nothing may start. */
  readonly startRun: (
    transaction: Db,
    start: {
      readonly workflowId: string;
      readonly rows: readonly RowChunk[];
      readonly userId: string;
    },
  ) => Promise<AcceptedRun>;
  /** Rejects as `startRun`, and for a run that cannot be taken up. `from` is the failed step unless given. */
  readonly retryRun: (
    transaction: Db,
    retry: {
      readonly runId: string;
      readonly from: string | undefined;
      readonly userId: string;
    },
  ) => Promise<AcceptedRun>;
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
