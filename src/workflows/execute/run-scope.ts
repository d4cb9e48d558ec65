import type { ExpressionScope } from "../row-process/row-process.ts";
import { type ClaimedRun, startOf } from "../runs/run.ts";

/**
 * What expressions see of a run: `trigger` is what started it, or for a retry the run that it repeats; `run` says which
 * one it is.
 */
export function scopeOf(run: ClaimedRun): ExpressionScope {
  return {
    trigger: startOf(run.trigger),
    run: {
      id: run.id,
      workflow_id: run.workflowId,
      workflow_name: run.workflowName,
      version: run.version,
      started_at: new Date(run.startedAt).toISOString(),
      retry_of: run.retryOf,
    },
  };
}
