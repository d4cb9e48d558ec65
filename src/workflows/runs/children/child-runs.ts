import type { Row } from "../../rows/row.ts";
import type { ClaimedRun, RunStatus } from "../run.ts";

/** Runs that a step starts (`run_workflow`). */
export interface ChildRuns {
  /**
   * Accepts a run of another workflow with the owner's rights; the same `idempotencyKey` starts it once, however long
   * the parent runs. The chain of the parent goes with it. Rejects with a `StepFailure`: unknown, disabled, full, a loop.
   */
  readonly start: (child: {
    readonly parent: ClaimedRun;
    readonly workflowId: string;
    readonly rows: readonly Row[];
    readonly idempotencyKey: string;
  }) => Promise<{ readonly runId: string }>;
  /** Resolves when the run has ended. Rejects with the signal's reason. */
  readonly wait: (runId: string, signal: AbortSignal) => Promise<RunStatus>;
}
