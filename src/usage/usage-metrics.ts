import { byLabel, type Metric, type Sample, single } from "../core/metric.ts";
import type { OpenUsageJournal } from "./journal/open-usage-journal.ts";
import type { DayFigures } from "./reports/day-figures.ts";
import type { ReconciliationFigures } from "./sums/daily-reconciliation.ts";
import type { PurgeFigures } from "./sums/usage-upkeep.ts";

/** The sources of the usage metrics. */
export interface UsageFigures {
  /** The last figures from the database; undefined before the first. */
  readonly day: () => DayFigures | undefined;
  readonly journal: Pick<
    OpenUsageJournal,
    "unflushedRecords" | "oldestUnflushedAgeSeconds" | "isRefusing"
  >;
  readonly purges: () => PurgeFigures;
  readonly reconciliation: () => ReconciliationFigures;
  /** Refused calls by their code. */
  readonly refusals: Readonly<Record<string, number>>;
}

export function usageMetrics(figures: UsageFigures): readonly Metric[] {
  return [
    ...dayMetrics(figures.day),
    {
      name: "svc_limit_refusals_total",
      type: "counter",
      help: "Calls refused for a limit of their key, by the code that names it.",
      labels: ["code"],
      read: () => byLabel("code", figures.refusals),
    },
    ...journalMetrics(figures.journal),
    ...upkeepMetrics(figures),
  ];
}

function dayMetrics(day: UsageFigures["day"]): readonly Metric[] {
  return [
    {
      name: "svc_gateway_requests_24h",
      type: "gauge",
      help: "Gateway requests in the last 24 hours, of all replicas, those refused by a limit of their key among them.",
      labels: ["channel"],
      read: () => byLabel("channel", day()?.requests),
    },
    {
      name: "svc_gateway_errors_24h",
      type: "gauge",
      help: "Gateway requests in the last 24 hours that ended with an error.",
      labels: ["channel"],
      read: () => byLabel("channel", day()?.errors),
    },
    {
      name: "svc_gateway_rate_limited_24h",
      type: "gauge",
      help: "Gateway requests in the last 24 hours answered with 429, by a limit of their key or by the upstream.",
      labels: ["channel"],
      read: () => byLabel("channel", day()?.rateLimited),
    },
    {
      name: "svc_gateway_input_tokens_24h",
      type: "gauge",
      help: "Input tokens of the last 24 hours.",
      labels: ["channel"],
      read: () => byLabel("channel", day()?.inputTokens),
    },
    {
      name: "svc_gateway_output_tokens_24h",
      type: "gauge",
      help: "Output tokens of the last 24 hours.",
      labels: ["channel"],
      read: () => byLabel("channel", day()?.outputTokens),
    },
    {
      name: "svc_gateway_latency_ms_24h",
      type: "summary",
      help: "Milliseconds that metered requests of the last 24 hours took, over all replicas; 0 when there was none.",
      labels: ["quantile"],
      read: () => latencySamples(day()),
    },
  ];
}

function latencySamples(day: DayFigures | undefined): readonly Sample[] {
  if (day === undefined) return [];
  const { quantiles, sumMs, count } = day.latency;
  return [
    ...byLabel("quantile", quantiles),
    { suffix: "_sum", labels: {}, value: sumMs },
    { suffix: "_count", labels: {}, value: count },
  ];
}

function journalMetrics(journal: UsageFigures["journal"]): readonly Metric[] {
  return [
    {
      name: "svc_journal_unflushed_records",
      type: "gauge",
      help: "Usage records of this process that are in its journal and not in the database yet.",
      labels: [],
      read: () => single(journal.unflushedRecords),
    },
    {
      name: "svc_journal_oldest_age_seconds",
      type: "gauge",
      help: "Age of the oldest of them; 0 when there is none.",
      labels: [],
      read: () => single(journal.oldestUnflushedAgeSeconds),
    },
    {
      name: "svc_journal_refusing",
      type: "gauge",
      help: "1 while the disk refuses records and they go to the database directly.",
      labels: [],
      read: () => single(journal.isRefusing),
    },
  ];
}

function upkeepMetrics({ purges, reconciliation }: UsageFigures): readonly Metric[] {
  return [
    {
      name: "svc_usage_mismatches",
      type: "gauge",
      help: "Sums of usage that differed from their rows when this process last compared them: each day once it is over, and what differs every hour until it agrees.",
      labels: [],
      read: () => single(reconciliation().mismatches),
    },
    {
      name: "svc_usage_last_reconciliation_timestamp_seconds",
      type: "gauge",
      help: "When it did, in Unix time; 0 before the first time.",
      labels: [],
      read: () => single((reconciliation().lastRunAt ?? 0) / 1_000),
    },
    {
      name: "svc_usage_last_purge_timestamp_seconds",
      type: "gauge",
      help: "When this process last took away what was past its retention, in Unix time; 0 before the first time.",
      labels: [],
      read: () => single((purges().lastPurgeAt ?? 0) / 1_000),
    },
    {
      name: "svc_usage_purged_partitions_total",
      type: "counter",
      help: "Partitions of usage, a day each, that this process has dropped.",
      labels: [],
      read: () => single(purges().droppedDays),
    },
    {
      name: "svc_usage_purged_rows_total",
      type: "counter",
      help: "Usage rows that went with them, and single ones.",
      labels: [],
      read: () => single(purges().droppedRows),
    },
  ];
}
