import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import type { WorkContext } from "../../queue/topic.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import type { ClaimedRun, RunEnd } from "./run.ts";

/** Works on a claimed run until it ends. Rejects with `ClaimLost`, or the context's reason, when the run is not its own any more. */
export type ExecuteRun = (run: ClaimedRun, context: WorkContext) => Promise<RunEnd>;

export interface Runs extends Part<Db> {
  readonly wake: () => void;
  /** Claims from here on; all parts are open. */
  readonly start: (execute: ExecuteRun) => void;
}

/** The worker of this replica for runs. */
export function openRuns(_store: Omit<WorkflowStore, "wakeRuns" | "kinds">): Runs {
  return { wake: () => undefined, start: () => undefined };
}
