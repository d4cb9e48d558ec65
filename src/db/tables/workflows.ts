import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { JsonObject } from "../../lib/json/json.ts";
import { apiKeys } from "./api-keys.ts";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const count = (name: string) => bigint(name, { mode: "number" });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
/** The UTC day by which the table is partitioned, in the migration, because drizzle cannot express it. */
const day = () => date("day", { mode: "string" }).notNull();

export const workflows = pgTable(
  "workflows",
  {
    /** `wf_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    description: text("description"),
    enabled: boolean("enabled").notNull().default(true),
    /** Null once the user is deleted and nobody took the workflow over. */
    ownerId: text("owner_id").references(() => users.id, { onDelete: "set null" }),
    visibility: text("visibility", { enum: ["private", "everyone"] })
      .notNull()
      .default("private"),
    /** The API key that its model steps call with. */
    keyId: text("key_id").references(() => apiKeys.id, { onDelete: "set null" }),
    timeoutSeconds: integer("timeout_seconds").notNull().default(3_600),
    keepRows: text("keep_rows", { enum: ["all", "failed", "none"] })
      .notNull()
      .default("all"),
    /** The triggers and steps of the current version, with their fields in the order in which they were sent. */
    definition: json("definition").$type<JsonObject>().notNull(),
    /** Raised by each change of the definition. */
    version: integer("version").notNull().default(1),
    /** `whk_…`, sealed: signatures are checked with it. Null without a webhook. */
    webhookSecret: text("webhook_secret"),
    /** SHA-256 of the `whu_…` id of a webhook whose address is its credential, in hexadecimal digits. */
    webhookUrlHash: text("webhook_url_hash"),
    createdAt: moment("created_at").notNull().defaultNow(),
    updatedAt: moment("updated_at").notNull().defaultNow(),
  },
  (table) => [
    index("workflows_created_at_index").on(table.createdAt, table.id),
    index("workflows_owner_id_index").on(table.ownerId, table.createdAt),
    index("workflows_key_id_index").on(table.keyId),
    uniqueIndex("workflows_webhook_url_hash_index")
      .on(table.webhookUrlHash)
      .where(sql`${table.webhookUrlHash} is not null`),
    check("workflows_visibility_is_known", sql`${table.visibility} in ('private', 'everyone')`),
  ],
);

/** Every version of a workflow that was saved; an accepted run keeps its own. */
export const workflowVersions = pgTable(
  "workflow_versions",
  {
    workflowId: text("workflow_id")
      .notNull()
      .references(() => workflows.id, { onDelete: "cascade" }),
    version: integer("version").notNull(),
    definition: json("definition").$type<JsonObject>().notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    /** The user or key that saved it; no reference, because it may be deleted. */
    createdBy: text("created_by"),
  },
  (table) => [primaryKey({ columns: [table.workflowId, table.version] })],
);

/**
 * The queue of one workflow. Its row is the lock under which runs are accepted, promoted, stopped and ended, so that
 * their order is that of the commits.
 */
export const workflowQueues = pgTable("workflow_queues", {
  workflowId: text("workflow_id")
    .primaryKey()
    .references(() => workflows.id, { onDelete: "cascade" }),
  /** The number of the last accepted run. */
  lastNumber: count("last_number").notNull().default(0),
  /** The number of queued runs, without the running one. */
  queued: integer("queued").notNull().default(0),
  /** Failures since the last completed run; stopped runs do not count. */
  consecutiveFailures: integer("consecutive_failures").notNull().default(0),
  /** The end of the first of them. */
  failingSince: moment("failing_since"),
  /** Discarded triggers by reason. */
  discarded: jsonb("discarded").$type<Readonly<Record<string, number>>>().notNull().default({}),
  /** When the last one was discarded. */
  discardedAt: moment("discarded_at"),
});

/** Queued and running runs. A run leaves the table when it ends. */
export const activeRuns = pgTable(
  "workflow_active_runs",
  {
    runId: text("run_id").primaryKey(),
    day: day(),
    workflowId: text("workflow_id")
      .notNull()
      .references(() => workflows.id, { onDelete: "cascade" }),
    status: text("status", { enum: ["queued", "running"] }).notNull(),
    /** Runs of a workflow start in this order. */
    number: count("number").notNull(),
    /** The job of the queue that works on the run; null while it is queued. */
    jobId: text("job_id"),
    /** Which of the workflow's triggers started it; `manual`, `retry`, `webhook` or the trigger's key. */
    triggerKey: text("trigger_key").notNull(),
    queuedAt: moment("queued_at").notNull(),
    /** When the first worker began. The time limit counts from then. */
    startedAt: moment("started_at"),
    timeoutSeconds: integer("timeout_seconds").notNull(),
  },
  (table) => [
    // The guarantee that one run of a workflow runs at a time.
    uniqueIndex("workflow_active_runs_running_index")
      .on(table.workflowId)
      .where(sql`${table.status} = 'running'`),
    uniqueIndex("workflow_active_runs_number_index").on(table.workflowId, table.number),
    index("workflow_active_runs_queued_at_index").on(table.status, table.queuedAt),
    index("workflow_active_runs_day_index").on(table.day),
  ],
);

/** Every run, by the UTC day of its acceptance, which is also in its id (`workflows/runs/run-id.ts`). */
export const workflowRuns = pgTable(
  "workflow_runs",
  {
    id: text("id").notNull(),
    day: day(),
    /** No reference, because the runs of a deleted workflow stay. */
    workflowId: text("workflow_id").notNull(),
    workflowName: text("workflow_name").notNull(),
    ownerId: text("owner_id"),
    version: integer("version").notNull(),
    status: text("status", {
      enum: ["queued", "running", "completed", "failed", "stopped"],
    }).notNull(),
    number: count("number").notNull(),
    /** `{kind, …}`: what started it. */
    trigger: jsonb("trigger").$type<JsonObject>().notNull(),
    rowsReceived: count("rows_received").notNull(),
    /** The workflows whose runs led to this one, the first one first, without itself. */
    chain: jsonb("chain").$type<readonly string[]>().notNull().default([]),
    queuedAt: moment("queued_at").notNull(),
    startedAt: moment("started_at"),
    endedAt: moment("ended_at"),
    /** Workers that began it. */
    attempts: integer("attempts").notNull().default(0),
    /** Repetitions of its steps. */
    retries: integer("retries").notNull().default(0),
    failedStep: text("failed_step"),
    /** `{step, row?, code, message}`. */
    error: jsonb("error").$type<JsonObject>(),
    /** The `flow_break` that ended it. */
    brokeAt: text("broke_at"),
    usage: jsonb("usage").$type<JsonObject>(),
    retryOf: text("retry_of"),
    /** Of a retry: the first step that is run again. */
    retryFrom: text("retry_from"),
    /** True once its rows were deleted. */
    rowsDropped: boolean("rows_dropped").notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.day, table.id] }),
    index("workflow_runs_queued_at_index").on(table.day, table.queuedAt, table.id),
    index("workflow_runs_workflow_id_index").on(
      table.workflowId,
      table.day,
      table.queuedAt,
      table.id,
    ),
    index("workflow_runs_owner_id_index").on(table.ownerId, table.day, table.queuedAt, table.id),
    index("workflow_runs_status_index").on(table.status, table.day, table.queuedAt, table.id),
    index("workflow_runs_ended_at_index").on(table.endedAt),
  ],
);

/** The steps of runs, written as they begin and end. */
export const workflowSteps = pgTable(
  "workflow_steps",
  {
    day: day(),
    runId: text("run_id").notNull(),
    stepId: text("step_id").notNull(),
    /** Its place in the definition. */
    position: integer("position").notNull(),
    kind: text("kind").notNull(),
    status: text("status", {
      enum: ["pending", "running", "completed", "failed", "stopped", "skipped"],
    }).notNull(),
    attempts: integer("attempts").notNull().default(0),
    rowsIn: count("rows_in").notNull().default(0),
    rowsOut: count("rows_out").notNull().default(0),
    rowErrors: count("row_errors").notNull().default(0),
    /** `[{name, rows, bytes}]`. */
    outputs: jsonb("outputs").$type<readonly JsonObject[]>().notNull().default([]),
    skippedBecause: text("skipped_because"),
    usage: jsonb("usage").$type<JsonObject>(),
    error: jsonb("error").$type<JsonObject>(),
    startedAt: moment("started_at"),
    endedAt: moment("ended_at"),
  },
  (table) => [primaryKey({ columns: [table.day, table.runId, table.stepId] })],
);

/** The rows of runs, in chunks: gzip of NDJSON. Dropped by day. */
export const workflowRows = pgTable(
  "workflow_rows",
  {
    day: day(),
    runId: text("run_id").notNull(),
    /** `$trigger` for what the trigger brought. */
    stepId: text("step_id").notNull(),
    /** `main`, `else`, `errors`, and names that begin with `$` for what is no output. */
    output: text("output").notNull(),
    chunk: integer("chunk").notNull(),
    rows: integer("rows").notNull(),
    /** Bytes of the rows before they were compressed. */
    bytes: integer("bytes").notNull(),
    data: bytes("data").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.day, table.runId, table.stepId, table.output, table.chunk] }),
  ],
);

/** What started runs, so that the same thing starts no second one: idempotency keys, ticks, events. By UTC day. */
export const workflowFacts = pgTable(
  "workflow_facts",
  {
    day: day(),
    workflowId: text("workflow_id").notNull(),
    /** `webhook`, or the trigger's key. */
    triggerKey: text("trigger_key").notNull(),
    /** The idempotency key, the tick's time, or the event's id. */
    fact: text("fact").notNull(),
    /** SHA-256 of a webhook's body. */
    bodyHash: text("body_hash"),
    /** Null when the trigger was discarded. */
    runId: text("run_id"),
    /** What a webhook was answered. */
    answer: jsonb("answer").$type<JsonObject>(),
    createdAt: moment("created_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.day, table.workflowId, table.triggerKey, table.fact] })],
);

/** The next tick of each schedule. */
export const workflowSchedules = pgTable(
  "workflow_schedules",
  {
    workflowId: text("workflow_id")
      .notNull()
      .references(() => workflows.id, { onDelete: "cascade" }),
    triggerKey: text("trigger_key").notNull(),
    /** When the trigger was saved; `@every` counts from then. */
    savedAt: moment("saved_at").notNull(),
    nextAt: moment("next_at").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workflowId, table.triggerKey] }),
    index("workflow_schedules_next_at_index").on(table.nextAt),
  ],
);

/** What runs wrote outside, so that a trigger that it fires knows the chain. */
export const workflowMarks = pgTable(
  "workflow_marks",
  {
    kind: text("kind", { enum: ["file", "knowledge"] }).notNull(),
    /** The path of a file with its hash, or the id of a file in a vector store. */
    subject: text("subject").notNull(),
    runId: text("run_id").notNull(),
    /** The workflows up to the run's own, which is the last. */
    chain: jsonb("chain").$type<readonly string[]>().notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.subject] }),
    index("workflow_marks_created_at_index").on(table.createdAt),
  ],
);

/** Secrets that steps of their owner's workflows name. */
export const workflowSecrets = pgTable(
  "workflow_secrets",
  {
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    name: text("name").notNull(),
    sealed: text("sealed").notNull(),
    updatedAt: moment("updated_at").notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.ownerId, table.name] })],
);
