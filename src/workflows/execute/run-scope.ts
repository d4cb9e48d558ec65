import type { ExpressionScope } from "../row-process/row-process.ts";
import type { ClaimedRun } from "../runs/run.ts";

/** What expressions see of a run: `trigger` is what started it, `run` says which one it is. */
export function scopeOf(run: ClaimedRun): ExpressionScope {
  return {
    trigger: run.trigger,
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
