import { byLabel, type Metric, single } from "../../core/metric.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";

const toolServers = zeroCounts(["connected", "disabled", "error"]);
const runs = zeroCounts(["queued", "running", "completed", "failed", "stopped"]);

/** Metrics of areas that do not exist yet. They are 0; each moves to its area when that is built. */
export const PLANNED_METRICS: readonly Metric[] = [
  {
    name: "svc_mcp_servers",
    type: "gauge",
    help: "Custom tool servers by status.",
    labels: ["status"],
    read: () => byLabel("status", toolServers),
  },
  {
    name: "svc_pipeline_runs_24h",
    type: "gauge",
    help: "Runs of workflows in the last 24 hours by status.",
    labels: ["status"],
    read: () => byLabel("status", runs),
  },
  {
    name: "svc_pipeline_queue_oldest_age_seconds",
    type: "gauge",
    help: "Age of the oldest queued run; 0 when none waits.",
    labels: [],
    read: () => single(0),
  },
  {
    name: "svc_pipeline_runs_stale_running",
    type: "gauge",
    help: "Runs still running beyond half the allowed time.",
    labels: [],
    read: () => single(0),
  },
];
