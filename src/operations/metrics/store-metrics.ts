import { type Metric, single } from "./metric.ts";

/** The database and the usage journal. */
export const STORE_METRICS: readonly Metric[] = [
  {
    name: "svc_database_up",
    type: "gauge",
    help: "1 when the database told its figures for this scrape; while 0, those it told last are shown.",
    labels: [],
    read: ({ isDatabaseUp }) => single(isDatabaseUp),
  },
  {
    name: "svc_database_figures_age_seconds",
    type: "gauge",
    help: "Age of what is shown from the database; before it has told anything, time since the start.",
    labels: [],
    read: ({ storedAgeSeconds }) => single(storedAgeSeconds),
  },
  {
    name: "svc_database_queries_running",
    type: "gauge",
    help: "Queries of callers that hold a connection.",
    labels: [],
    read: ({ database }) => single(database.figures().inUse),
  },
  {
    name: "svc_database_connections_max",
    type: "gauge",
    help: "Connections that callers' queries may hold at once.",
    labels: [],
    read: ({ database }) => single(database.figures().max),
  },
  {
    name: "svc_database_queries_waiting",
    type: "gauge",
    help: "Queries of callers that wait for a connection.",
    labels: [],
    read: ({ database }) => single(database.figures().waiting),
  },
  {
    name: "svc_database_queries_refused_total",
    type: "counter",
    help: "Queries of callers that were turned away, because too many waited or the database was too slow.",
    labels: [],
    read: ({ database }) => single(database.figures().refused),
  },
  {
    name: "svc_journal_unflushed_records",
    type: "gauge",
    help: "Usage records of this process that are in its journal and not in the database yet.",
    labels: [],
    read: ({ journal }) => single(journal.unflushedRecords),
  },
  {
    name: "svc_journal_oldest_age_seconds",
    type: "gauge",
    help: "Age of the oldest of them; 0 when there is none.",
    labels: [],
    read: ({ journal }) => single(journal.oldestUnflushedAgeSeconds),
  },
  {
    name: "svc_journal_refusing",
    type: "gauge",
    help: "1 while the disk refuses records and they go to the database directly.",
    labels: [],
    read: ({ journal }) => single(journal.isRefusing),
  },
  {
    name: "svc_usage_mismatches",
    type: "gauge",
    help: "Sums of usage that differed from their rows when this process last compared them: each day once it is over, and what differs every hour until it agrees.",
    labels: [],
    read: ({ usageReconciliation }) => single(usageReconciliation.figures().mismatches),
  },
  {
    name: "svc_usage_last_reconciliation_timestamp_seconds",
    type: "gauge",
    help: "When it did, in Unix time; 0 before the first time.",
    labels: [],
    read: ({ usageReconciliation }) =>
      single((usageReconciliation.figures().lastRunAt ?? 0) / 1_000),
  },
  {
    name: "svc_usage_last_purge_timestamp_seconds",
    type: "gauge",
    help: "When this process last took away what was past its retention, in Unix time; 0 before the first time.",
    labels: [],
    read: ({ usageUpkeep }) => single((usageUpkeep.figures().lastPurgeAt ?? 0) / 1_000),
  },
  {
    name: "svc_usage_purged_partitions_total",
    type: "counter",
    help: "Partitions of usage, a day each, that this process has dropped.",
    labels: [],
    read: ({ usageUpkeep }) => single(usageUpkeep.figures().droppedDays),
  },
  {
    name: "svc_usage_purged_rows_total",
    type: "counter",
    help: "Usage rows that went with them, and single ones.",
    labels: [],
    read: ({ usageUpkeep }) => single(usageUpkeep.figures().droppedRows),
  },
];
