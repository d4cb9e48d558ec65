import type { ExecuteRun } from "../runs/open-runs.ts";
import type { WorkflowStore } from "../workflow-store.ts";

export function createExecution(_store: WorkflowStore): ExecuteRun {
  return () => Promise.reject(new Error("the execution of runs is not built yet"));
}
