import type { Part } from "../core/part.ts";
import type { Db } from "../db/context.ts";
import type { WorkflowStore } from "./workflow-store.ts";

/** Metrics and alerts of runs. */
export function createWorkflowFigures(_store: WorkflowStore): Part<Db> {
  return {};
}
