import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";

const count = (name: string) => bigint(name, { mode: "number" });

/** One row per metered request. Bodies are never part of it. */
export const usageRecords = pgTable(
  "usage_records",
  {
    /** The request id: a row replayed from a journal is inserted once. */
    id: text("id").primaryKey(),
    startedAt: timestamp("started_at", { withTimezone: true, precision: 3 }).notNull(),
    /** No reference: the rows of a deleted key stay. */
    keyId: text("key_id").notNull(),
    channel: text("channel", {
      enum: ["chat", "messages", "responses", "embeddings", "audio", "mcp"],
    }).notNull(),
    model: text("model").notNull(),
    outcome: text("outcome", { enum: ["ok", "error", "aborted", "rate_limited"] }).notNull(),
    success: boolean("success").notNull(),
    /** The HTTP status the client saw. */
    status: integer("status").notNull(),
    inputTokens: count("input_tokens").notNull(),
    outputTokens: count("output_tokens").notNull(),
    cachedTokens: count("cached_tokens").notNull(),
    reasoningTokens: count("reasoning_tokens").notNull(),
    /** True when we counted because the vendor did not. */
    estimated: boolean("estimated").notNull(),
    latencyMs: count("latency_ms").notNull(),
    /** Null when no event came. */
    firstTokenMs: count("first_token_ms"),
    /** Only for tool calls on `/mcp`. */
    toolName: text("tool_name"),
  },
  (table) => [
    index("usage_records_started_at_index").on(table.startedAt),
    index("usage_records_key_id_started_at_index").on(table.keyId, table.startedAt),
  ],
);

/** How far each journal's segments are in the database; moves in the transaction that inserts the rows. */
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
