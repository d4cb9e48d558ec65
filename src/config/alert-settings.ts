import { fullUrl, positive, webhookSecret } from "./setting-types.ts";

/** What is warned of, and where alerts go. */
export const alertSettings = {
  ALERT_WEBHOOK_URL: fullUrl
    .optional()
    .describe("Address that alerts are posted to; unset writes them to the log alone."),
  ALERT_WEBHOOK_SECRET: webhookSecret
    .optional()
    .describe(
      "Secret of 16 characters or more that alerts are signed with, in the header webhook-signature.",
    ),
  ALERT_CHECK_INTERVAL_SEC: positive
    .max(86_400)
    .default(900)
    .describe("Seconds between two looks for conditions to warn of."),
  ALERT_PIPELINE_CONSECUTIVE_FAILURES: positive
    .max(1_000)
    .default(3)
    .describe("Failures of one workflow in a row that are warned of."),
  ALERT_PIPELINE_QUEUE_AGE_SEC: positive
    .max(604_800)
    .default(900)
    .describe("Seconds that a workflow run may wait before that is warned of."),
  ALERT_EVENT_OUTBOX_AGE_SEC: positive
    .max(604_800)
    .default(600)
    .describe("Seconds that an event may stay undelivered before that is warned of."),
};
