import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import { CHANNELS } from "../../core/channel.ts";

const count = (name: string) => bigint(name, { mode: "number" });

/**
 * Tokens that limits were charged beyond input and output: for an answer that was cut before its usage was known, and
 * for embeddings whose engine counted more than the row states.
 */
const extraCharge = () => count("extra_charge").notNull().default(0);

/**
 * One row per metered request, without bodies. Partitioned by UTC day of `started_at` in the migration, because drizzle
 * cannot express it. So a whole day is dropped at once, which frees its space immediately.
 */
export const usageRecords = pgTable(
  "usage_records",
  {
    /** The request id. A row replayed from a journal has the same id and start, so it is inserted only once. */
    id: text("id").notNull(),
    startedAt: timestamp("started_at", { withTimezone: true, precision: 3 }).notNull(),
    /** No reference, because the rows of a deleted key stay. */
    keyId: text("key_id").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    model: text("model").notNull(),
    outcome: text("outcome", { enum: ["ok", "error", "aborted", "rate_limited"] }).notNull(),
    success: boolean("success").notNull(),
    /** The HTTP status that the client received. */
    status: integer("status").notNull(),
    inputTokens: count("input_tokens").notNull(),
    outputTokens: count("output_tokens").notNull(),
    cachedTokens: count("cached_tokens").notNull(),
    reasoningTokens: count("reasoning_tokens").notNull(),
    /** True when the gateway counted the tokens because the vendor did not. */
    estimated: boolean("estimated").notNull(),
    latencyMs: count("latency_ms").notNull(),
    /** Null when no event arrived. */
    firstTokenMs: count("first_token_ms"),
    /** Only for tool calls on `/mcp`. */
    toolName: text("tool_name"),
    /** The assistant that answered. No reference, because the rows of a deleted assistant stay. */
    assistantId: text("assistant_id"),
    /** The workflow's run that made the call. */
    runId: text("run_id"),
    extraCharge: extraCharge(),
  },
  (table) => [
    primaryKey({ columns: [table.id, table.startedAt] }),
    index("usage_records_started_at_index").on(table.startedAt),
    index("usage_records_key_id_started_at_index").on(table.keyId, table.startedAt),
    index("usage_records_model_started_at_index").on(table.model, table.startedAt),
    // Partial, because failures are searched for and rare.
    index("usage_records_outcome_started_at_index")
      .on(table.outcome, table.startedAt)
      .where(sql`${table.outcome} <> 'ok'`),
  ],
);

/** The columns of all usage sums. */
const sums = () => ({
  requests: count("requests").notNull(),
  /** Requests that were not answered: outcome `error` or `rate_limited`. */
  failures: count("failures").notNull(),
  /** The failures that the upstream refused as too many. */
  rateLimited: count("rate_limited").notNull().default(0),
  /** Requests whose client disconnected. */
  aborted: count("aborted").notNull().default(0),
  /** The sum of all latencies. */
  latencyMs: count("latency_ms").notNull().default(0),
  inputTokens: count("input_tokens").notNull(),
  outputTokens: count("output_tokens").notNull(),
  cachedTokens: count("cached_tokens").notNull(),
  reasoningTokens: count("reasoning_tokens").notNull(),
});

/**
 * Usage by hour, key, model and channel. Updated only for rows that were actually inserted, so that a replay counts
 * nothing twice.
 */
export const usageHours = pgTable(
  "usage_hours",
  {
    /** The start of the hour, UTC. */
    hour: timestamp("hour", { withTimezone: true }).notNull(),
    keyId: text("key_id").notNull(),
    model: text("model").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    ...sums(),
    extraCharge: extraCharge(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.keyId, table.model, table.channel] }),
    index("usage_hours_key_id_hour_index").on(table.keyId, table.hour),
  ],
);

/** Hourly usage over all keys. The number of rows depends on the models in use, not on the number of keys. */
export const modelHours = pgTable(
  "model_hours",
  {
    /** The start of the hour, UTC. */
    hour: timestamp("hour", { withTimezone: true }).notNull(),
    model: text("model").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    ...sums(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.model, table.channel] })],
);

/**
 * Usage by day, key, model and channel, kept permanently. A monthly report reads a few thousand rows, however many
 * calls there were.
 */
export const usageDays = pgTable(
  "usage_days",
  {
    /** The start of the day, UTC. */
    day: timestamp("day", { withTimezone: true }).notNull(),
    keyId: text("key_id").notNull(),
    model: text("model").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    ...sums(),
  },
  (table) => [
    primaryKey({ columns: [table.day, table.keyId, table.model, table.channel] }),
    index("usage_days_key_id_day_index").on(table.keyId, table.day),
  ],
);

/**
 * The figures of the last day, by ten minutes and channel: a scrape adds up less than a thousand rows. `model_hours` and
 * `limit_refusals` cannot replace it: by whole hours the last day would have up to 25 of them and lose an hour's calls at
 * once, and refusals are kept by key, so that their sum would grow with the number of keys.
 */
export const usageSlots = pgTable(
  "usage_slots",
  {
    /** The start of the slot, UTC. */
    slot: timestamp("slot", { withTimezone: true }).notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    /** Metered requests and those that a limit of their key refused. */
    requests: count("requests").notNull(),
    /** Outcome `error`. */
    errors: count("errors").notNull(),
    /** Outcome `rate_limited`, and the refusals of a key's limits. */
    rateLimited: count("rate_limited").notNull(),
    inputTokens: count("input_tokens").notNull(),
    outputTokens: count("output_tokens").notNull(),
  },
  (table) => [primaryKey({ columns: [table.slot, table.channel] })],
);

/** The latency histogram of metered requests. Percentiles are computed from it without reading the rows. */
export const latencyHours = pgTable(
  "latency_hours",
  {
    /** The start of the hour, UTC. */
    hour: timestamp("hour", { withTimezone: true }).notNull(),
    /** `round(50 * ln(1 + milliseconds))`: each bucket is 2% wider than the one before. */
    bucket: integer("bucket").notNull(),
    requests: count("requests").notNull(),
    /** The sum of the latencies in the bucket. */
    latencyMs: count("latency_ms").notNull(),
  },
  (table) => [primaryKey({ columns: [table.hour, table.bucket] })],
);

/** Calls that were refused by a limit of their key. They have no usage row. */
export const limitRefusals = pgTable(
  "limit_refusals",
  {
    /** The start of the hour, UTC. */
    hour: timestamp("hour", { withTimezone: true }).notNull(),
    keyId: text("key_id").notNull(),
    channel: text("channel", { enum: CHANNELS }).notNull(),
    /** The error code that the caller received, which identifies the limit. */
    code: text("code").notNull(),
    refusals: count("refusals").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.hour, table.keyId, table.channel, table.code] }),
    index("limit_refusals_key_id_hour_index").on(table.keyId, table.hour),
  ],
);

/** Usage by key and month. Limits are computed from it, so it is never pruned. */
export const usageMonths = pgTable(
  "usage_months",
  {
    keyId: text("key_id").notNull(),
    /** The first day of the month, UTC. */
    month: date("month", { mode: "string" }).notNull(),
    requests: count("requests").notNull(),
    /** What limits were charged: input, output and extra charge. */
    tokens: count("tokens").notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyId, table.month] })],
);

/** How far each journal's segments have been imported. Updated in the transaction that inserts the rows. */
export const journalCheckpoints = pgTable(
  "journal_checkpoints",
  {
    journal: text("journal").notNull(),
    segment: integer("segment").notNull(),
    byteOffset: count("byte_offset").notNull(),
    updatedAt: timestamp("updated_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.journal, table.segment] })],
);
