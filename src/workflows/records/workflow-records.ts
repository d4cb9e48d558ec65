import type { Db } from "../../db/context.ts";
import type { CheckSchedule } from "../definition/check-triggers.ts";
import type { Trigger } from "../definition/definition.ts";
import type { AcceptedRun } from "../runs/accept/acceptance.ts";
import type { Retry } from "../runs/control/retry-run.ts";
import type { ManualStart } from "../runs/control/start-run.ts";
import type { Stopped } from "../runs/control/stop-runs.ts";
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

/** What `workflows/runs` does with the queue of a workflow, in the caller's transaction. Times in Unix milliseconds. */
export interface RunVerbs {
  readonly startRun: (transaction: Db, start: ManualStart) => Promise<AcceptedRun>;
  readonly retryRun: (
    transaction: Db,
    retry: Omit<Retry, "readDefinition" | "readsTrigger">,
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
