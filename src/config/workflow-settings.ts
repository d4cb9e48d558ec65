import { milliseconds, number, positive } from "./setting-types.ts";

const GIB = 1024 ** 3;

/** Workflows, their runs, and datasets. */
export const workflowSettings = {
  PIPELINE_MAX_QUEUED_RUNS: number
    .min(0)
    .max(1_000_000)
    .default(50)
    .describe(
      "Runs of one workflow that may wait beside the running one; further triggers are discarded.",
    ),
  WORKFLOW_CONCURRENCY: number
    .min(0)
    .max(1_000)
    .default(16)
    .describe("Workflow runs that a replica works on at once; 0 leaves them to other replicas."),
  RUN_LEASE_MS: milliseconds
    .min(1_000)
    .max(28_000)
    .default(20_000)
    .describe("Without a sign of life for this long, another replica takes a run over."),
  WORKFLOW_MAX_ROWS: positive
    .max(100_000_000)
    .default(1_000_000)
    .describe("Rows that one output of a workflow's step may have."),
  WORKFLOW_MAX_BYTES: positive
    .max(1024 * GIB)
    .default(GIB)
    .describe("Bytes of JSON that one output of a workflow's step may have."),
  WORKFLOW_ROWS_RETENTION_DAYS: positive
    .max(365)
    .default(7)
    .describe("Days that the rows of ended runs are kept."),
  WORKFLOW_RUN_RETENTION_DAYS: positive
    .max(730)
    .default(90)
    .describe("Days that the records of runs are kept."),
  ROW_PROCESSES: positive
    .max(64)
    .default(2)
    .describe("Processes for expressions, SQL and files of workflows; further steps wait for one."),
  DATASET_MAX_ROWS: positive
    .max(1_000_000_000)
    .default(10_000_000)
    .describe("Rows that one dataset may have."),
};
