import { sql } from "drizzle-orm";
import { byLabel, type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Db } from "../db/context.ts";
import { activeRuns, workflowQueues, workflowRuns } from "../db/tables/workflows.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import { RUN_STATUSES, type RunStatus } from "./runs/run.ts";
import { workflowAlerts } from "./workflow-alerts.ts";
import type { WorkflowStore } from "./workflow-store.ts";

const DAY_MS = 86_400_000;
/** A run that takes longer than this share of its time limit counts as stale. */
const STALE_SHARE = 0.5;

/** What the database knows of runs. */
export interface RunFigures {
  /** Queued and running ones are those of now; the others ended in the last 24 hours. */
  readonly runs: Readonly<Record<RunStatus, number>>;
  /** Age of the oldest queued run; 0 without one. */
  readonly oldestQueuedSeconds: number;
  /** Runs that have been running for more than half of their time limit. */
  readonly staleRunning: number;
  /** Workflows whose last runs failed as often as the alert demands. */
  readonly failingWorkflows: number;
}

type FigureStore = Pick<WorkflowStore, "settings" | "database" | "discards">;

/** Metrics and alerts of runs. */
export function createWorkflowFigures({ settings, database, discards }: FigureStore): Part<Db> {
  let figures: RunFigures | undefined;
  return {
    metrics: [...storedMetrics(() => figures), discardMetric(discards)],
    async refreshStored(db, now) {
      const { ALERT_PIPELINE_CONSECUTIVE_FAILURES: failures } = settings;
      figures = await readRunFigures(db, { now, failures });
    },
    alerts: workflowAlerts(database.db, settings),
  };
}

/**
 * Reads the tables of active runs and of queues, which stay small, and of the history only the runs that ended in the
 * last day, through the index on their end: older partitions answer with an empty index.
 *
 * @param at `now` in Unix milliseconds; `failures` in a row that make a workflow a failing one.
 */
export async function readRunFigures(
  db: Db,
  { now, failures }: { readonly now: number; readonly failures: number },
): Promise<RunFigures> {
  const runs = zeroCounts(RUN_STATUSES);
  const active = await db.execute<{
    status: "queued" | "running";
    runs: number;
    oldest: number | null;
    stale: number;
  }>(sql`
    select status, count(*)::int as runs,
      extract(epoch from min(queued_at))::float8 * 1000 as oldest,
      (count(*) filter (where started_at + make_interval(secs => timeout_seconds * ${STALE_SHARE}::float8)
        < ${moment(now)}))::int as stale
    from ${activeRuns} group by status`);
  const ended = await db.execute<{ status: RunStatus; runs: number }>(sql`
    select status, count(*)::int as runs from ${workflowRuns}
    where ended_at > ${moment(now - DAY_MS)} group by status`);
  for (const { status, runs: count } of [...active, ...ended]) runs[status] = count;
  const [failing] = await db.execute<{ count: number }>(sql`
    select count(*)::int as count from ${workflowQueues}
    where consecutive_failures >= ${failures}`);
  const oldest = active.find(({ status }) => status === "queued")?.oldest;
  return {
    runs,
    oldestQueuedSeconds: oldest == null ? 0 : Math.max(0, now - oldest) / 1_000,
    staleRunning: active.find(({ status }) => status === "running")?.stale ?? 0,
    failingWorkflows: failing?.count ?? 0,
  };
}

function storedMetrics(read: () => RunFigures | undefined): readonly Metric[] {
  return [
    {
      name: "svc_pipeline_runs_24h",
      type: "gauge",
      help: "Runs of workflows by status: queued and running ones now, the others by their end in the last 24 hours.",
      labels: ["status"],
      read: () => byLabel("status", read()?.runs),
    },
    {
      name: "svc_pipeline_queue_oldest_age_seconds",
      type: "gauge",
      help: "Age of the oldest queued run; 0 when none waits.",
      labels: [],
      read: () => single(read()?.oldestQueuedSeconds),
    },
    {
      name: "svc_pipeline_runs_stale_running",
      type: "gauge",
      help: "Runs still running beyond half the allowed time.",
      labels: [],
      read: () => single(read()?.staleRunning),
    },
    {
      name: "svc_pipeline_workflows_failing",
      type: "gauge",
      help: "Workflows whose runs failed ALERT_PIPELINE_CONSECUTIVE_FAILURES times in a row or more.",
      labels: [],
      read: () => single(read()?.failingWorkflows),
    },
  ];
}

function discardMetric(discards: FigureStore["discards"]): Metric {
  return {
    name: "svc_pipeline_triggers_discarded_total",
    type: "counter",
    help: "Triggers of workflows that started no run, by the reason.",
    labels: ["reason"],
    read: () => byLabel("reason", discards),
  };
}

function moment(at: number) {
  return sql`${new Date(at).toISOString()}::timestamptz`;
}
