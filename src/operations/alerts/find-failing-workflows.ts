import type { AlertRule } from "./alert-rule.ts";

/** Each workflow whose last ALERT_PIPELINE_CONSECUTIVE_FAILURES runs failed, or more; a success begins the count anew. */
export const findFailingWorkflows: AlertRule["find"] = async (facts, settings) => {
  const workflows = await facts.failingWorkflows(settings.ALERT_PIPELINE_CONSECUTIVE_FAILURES);
  return workflows.map(({ id, name, failures, firstFailedAt, lastRunId }) => ({
    subject: id,
    text: `The workflow "${name}" failed ${failures} times in a row.`,
    details: {
      pipeline_id: id,
      pipeline_name: name,
      failures,
      first_failed_at: new Date(firstFailedAt).toISOString(),
      last_run_id: lastRunId,
    },
    since: firstFailedAt,
    over: "the workflow fails in a row no more",
  }));
};
