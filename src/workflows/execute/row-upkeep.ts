import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import type { WorkflowStore } from "../workflow-store.ts";

/** Creates the days of runs, steps, rows and facts, and drops old ones. */
export function createRowUpkeep(_store: WorkflowStore): Part<Db> {
  return {};
}
