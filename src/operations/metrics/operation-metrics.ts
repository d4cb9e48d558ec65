import type { License } from "../../license/license.ts";
import { byLabel, eachWith, type Metric, single } from "./metric.ts";

const DAY_SECONDS = 86_400;

/** Keys, connections, workflows, events, background jobs and the license. */
export const OPERATION_METRICS: readonly Metric[] = [
  {
    name: "svc_api_keys",
    type: "gauge",
    help: "API keys by state.",
    labels: ["state"],
    read: ({ stored }) => byLabel("state", stored?.apiKeys),
  },
  {
    name: "svc_connections",
    type: "gauge",
    help: "Saved database connections by kind.",
    labels: ["kind"],
    read: ({ stored }) => byLabel("kind", stored?.parts.connections),
  },
  {
    name: "svc_mcp_servers",
    type: "gauge",
    help: "Custom tool servers by status.",
    labels: ["status"],
    read: ({ stored }) => byLabel("status", stored?.parts.toolServers),
  },
  {
    name: "svc_pipeline_runs_24h",
    type: "gauge",
    help: "Runs of workflows in the last 24 hours by status.",
    labels: ["status"],
    read: ({ stored }) => byLabel("status", stored?.parts.runs),
  },
  {
    name: "svc_pipeline_queue_oldest_age_seconds",
    type: "gauge",
    help: "Age of the oldest queued run; 0 when none waits.",
    labels: [],
    read: ({ stored }) => single(stored?.parts.oldestQueuedRunAgeSeconds),
  },
  {
    name: "svc_pipeline_runs_stale_running",
    type: "gauge",
    help: "Runs still running beyond half the allowed time.",
    labels: [],
    read: ({ stored }) => single(stored?.parts.staleRuns),
  },
  {
    name: "svc_event_outbox_pending",
    type: "gauge",
    help: "Events neither delivered nor given up.",
    labels: [],
    read: ({ stored }) => single(stored?.outbox.pending),
  },
  {
    name: "svc_event_outbox_oldest_age_seconds",
    type: "gauge",
    help: "Age of the oldest of them; 0 when there is none.",
    labels: [],
    read: ({ stored }) => single(stored?.outbox.oldestAgeSeconds),
  },
  {
    name: "svc_event_outbox_dead",
    type: "gauge",
    help: "Events for which retries were abandoned, as long as they are kept.",
    labels: [],
    read: ({ stored }) => single(stored?.outbox.dead),
  },
  {
    name: "svc_event_deliveries_total",
    type: "counter",
    help: "Tries to deliver an event: failed is tried again, given_up is not.",
    labels: ["sink", "outcome"],
    read: ({ deliveries }) =>
      eachWith("sink", deliveries, (results) => byLabel("outcome", results)),
  },
  {
    name: "svc_scheduler_up",
    type: "gauge",
    help: "1 while this process does its background jobs on time, 0 also when one of them hangs.",
    labels: [],
    read: ({ jobs }) => single(jobs.isOnTime()),
  },
  // The label is no `job`: scrapers put one of their own to every line.
  {
    name: "svc_job_runs_total",
    type: "counter",
    help: "Runs of background jobs by how they ended.",
    labels: ["task", "outcome"],
    read: ({ jobs }) =>
      eachWith("task", jobs.jobs, ({ ok, failed }) => byLabel("outcome", { ok, failed })),
  },
  {
    name: "svc_job_last_success_timestamp_seconds",
    type: "gauge",
    help: "When a background job last ended well, in Unix time; 0 before the first time.",
    labels: ["task"],
    read: ({ jobs }) => eachWith("task", jobs.jobs, ({ succeededAt }) => single(succeededAt)),
  },
  {
    name: "svc_license_state",
    type: "gauge",
    help: "1 for the state that the license or the evaluation is in, 0 for the others.",
    labels: ["state"],
    read: ({ license }) => {
      const current = stateOf(license);
      const states = ["valid", "grace", "invalid"] as const;
      return byLabel(
        "state",
        Object.fromEntries(states.map((state) => [state, Number(state === current)])),
      );
    },
  },
  {
    name: "svc_license_remaining_seconds",
    type: "gauge",
    help: "Time to the license's expiry, in grace to the grace's end, in whole days; +Inf for a license without end.",
    labels: [],
    read: ({ license }) => {
      const days = license.state().days_left;
      return single(days === null ? Number.POSITIVE_INFINITY : days * DAY_SECONDS);
    },
  },
];

function stateOf(license: Pick<License, "state">): "valid" | "grace" | "invalid" {
  const { valid, in_grace } = license.state();
  if (!valid) return "invalid";
  return in_grace ? "grace" : "valid";
}
