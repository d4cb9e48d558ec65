import type { AlertRule } from "./alert-rule.ts";

/** Longer than the longest interval between two looks, with a day for a service that was down. */
const LOOK_BACK_MS = 2 * 86_400_000;

/** Each run of a workflow that failed lately. */
export const findFailedRuns: AlertRule["find"] = async (facts, _, now) =>
  (await facts.failedRuns(now - LOOK_BACK_MS)).map((run) => ({
    subject: run.id,
    text: `A run of the workflow "${run.workflowName}" failed${run.failedStep === undefined ? "" : ` at the step "${run.failedStep}"`}.`,
    details: {
      pipeline_id: run.workflowId,
      pipeline_name: run.workflowName,
      run_id: run.id,
      failed_at: new Date(run.failedAt).toISOString(),
      failed_step: run.failedStep ?? null,
    },
  }));
