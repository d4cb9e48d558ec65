import type { FileConnections } from "../../knowledge/file-connections.ts";
import type { WorkflowSecrets } from "../secrets.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import type { RunVerbs, ScheduleVerbs, WorkflowRecords } from "./workflow-records.ts";

/** Schedules are neither checked nor kept. */
const SCHEDULES: ScheduleVerbs = {
  checkSchedule: () => ({ next: [] }),
  nextTimes: () => [],
  saveSchedules: async () => undefined,
};

const missing = () => Promise.reject(new Error("runs are not built yet"));
const nothing = async () => ({ runIds: [], isNextRunning: false });
const RUNS: RunVerbs = {
  startRun: missing,
  retryRun: missing,
  stopRun: nothing,
  stopWorkflow: nothing,
};

/** Connects the verbs of workflows with the schedules and the queue of runs. */
export function connectRecords(
  store: WorkflowStore,
  parts: {
    readonly secrets: WorkflowSecrets;
    readonly fileConnections: Pick<FileConnections, "list">;
  },
): WorkflowRecords {
  const folders = () => parts.fileConnections.list().map(({ name }) => name);
  return { ...store, secrets: parts.secrets, folders, schedules: SCHEDULES, runs: RUNS };
}
