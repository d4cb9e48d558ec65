import type { AlertRule } from "./alert-rule.ts";

/** The queue of workflow runs, when one waits for longer than ALERT_PIPELINE_QUEUE_AGE_SEC. */
export const findQueueBacklog: AlertRule["find"] = async (facts, settings, now) => {
  const limitSeconds = settings.ALERT_PIPELINE_QUEUE_AGE_SEC;
  const waiting = await facts.waitingRuns(now - limitSeconds * 1_000);
  if (waiting === undefined) return [];
  const ageSeconds = Math.floor((now - waiting.oldestQueuedAt) / 1_000);
  const { count, oldestWorkflowName: name } = waiting;
  return [
    {
      subject: "queue",
      text: `${count === 1 ? "A workflow run waits" : `${count} workflow runs wait`} for longer than ${limitSeconds} s, the oldest, of the workflow "${name}", for ${ageSeconds} s.`,
      details: {
        queued: count,
        oldest_age_seconds: ageSeconds,
        limit_seconds: limitSeconds,
        oldest_run_id: waiting.oldestRunId,
        pipeline_id: waiting.oldestWorkflowId,
        pipeline_name: name,
      },
      over: "no workflow run waits for too long any more",
    },
  ];
};
