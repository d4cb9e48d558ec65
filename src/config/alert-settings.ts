import { fullUrl, positive, webhookSecret } from "./setting-types.ts";

/** The conditions that raise alerts, and where alerts are sent. */
export const alertSettings = {
  ALERT_WEBHOOK_URL: fullUrl
    .optional()
    .describe("Address that alerts are posted to; unset writes them only to the log."),
  ALERT_WEBHOOK_SECRET: webhookSecret
    .optional()
    .describe(
      "Secret of 16 characters or more that alerts are signed with, in the header webhook-signature.",
    ),
  ALERT_CHECK_INTERVAL_SEC: positive
    .max(86_400)
    .default(900)
    .describe("Seconds between two checks of the alert conditions."),
  ALERT_PIPELINE_CONSECUTIVE_FAILURES: positive
    .max(1_000)
    .default(3)
    .describe("Consecutive failures of one workflow that raise an alert."),
  ALERT_PIPELINE_QUEUE_AGE_SEC: positive
    .max(604_800)
    .default(900)
    .describe("Seconds that a workflow run may wait before this raises an alert."),
  ALERT_EVENT_OUTBOX_AGE_SEC: positive
    .max(604_800)
    .default(600)
    .describe("Seconds that an event may stay undelivered before this raises an alert."),
};
