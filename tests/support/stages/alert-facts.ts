import type { AlertFacts } from "../../../src/operations/alerts/alert-facts.ts";
import type { AlertSettings } from "../../../src/operations/alerts/alert-rule.ts";

/** The defaults. */
export const ALERT_SETTINGS: AlertSettings = {
  LLM_BACKEND: "vllm",
  ALERT_PIPELINE_CONSECUTIVE_FAILURES: 3,
  ALERT_PIPELINE_QUEUE_AGE_SEC: 900,
  ALERT_EVENT_OUTBOX_AGE_SEC: 600,
};

/** Facts that there is nothing to warn of in. */
export const NOTHING_WRONG: AlertFacts = {
  engineAnswers: async () => true,
  overdueEvents: async () => [],
  failedToolServers: async () => [],
  failedRuns: async () => [],
  failingWorkflows: async () => [],
  waitingRuns: async () => undefined,
};
