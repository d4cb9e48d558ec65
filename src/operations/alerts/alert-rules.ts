import type { AlertRule } from "./alert-rule.ts";
import { findEngineDown } from "./find-engine-down.ts";
import { findFailedRuns } from "./find-failed-runs.ts";
import { findFailedToolServers } from "./find-failed-tool-servers.ts";
import { findFailingWorkflows } from "./find-failing-workflows.ts";
import { findOutboxBacklog, OUTBOX_BACKLOG } from "./find-outbox-backlog.ts";
import { findQueueBacklog } from "./find-queue-backlog.ts";

const HOUR_MS = 3_600_000;

/**
 * What is warned of, looked for every ALERT_CHECK_INTERVAL_SEC. The alerts about a key's month are the only others:
 * they come of a call, in `budget-alerts.ts`.
 */
export const ALERT_RULES: readonly AlertRule[] = [
  { type: "llm_backend_down", window: HOUR_MS, find: findEngineDown },
  { type: "mcp_server_error", window: 6 * HOUR_MS, find: findFailedToolServers },
  { type: "pipeline_failed", window: "for good", find: findFailedRuns },
  {
    type: "pipeline_consecutive_failures",
    window: "while it lasts",
    find: findFailingWorkflows,
  },
  { type: "pipeline_queue_backlog", window: HOUR_MS, find: findQueueBacklog },
  // What tells of a backlog is not to lengthen it.
  { type: OUTBOX_BACKLOG, window: HOUR_MS, find: findOutboxBacklog, waitsForItself: true },
];
