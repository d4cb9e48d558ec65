import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** BI keys (`bk-`): they only read data. The secret itself is not stored. */
export const biKeys = pgTable(
  "bi_keys",
  {
    /** `bik_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    /** HMAC-SHA256 of the secret, base64url, under a secret kept outside the database. */
    keyHash: text("key_hash").notNull().unique(),
    lastFour: text("last_four").notNull(),
    state: text("state", { enum: ["active", "inactive"] })
      .notNull()
      .default("active"),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    /** Names of the views it may read, built in or datasets; `*` is all, those to come too; empty allows none. */
    datasets: text("datasets").array().notNull().default([]),
    /** Rows that one statement may bring. */
    rowLimit: bigint("row_limit", { mode: "number" }).notNull().default(1_000_000),
    /** Seconds that one statement may take. */
    timeoutSeconds: integer("timeout_seconds").notNull().default(30),
    /** Connections to the PostgreSQL port at once. */
    maxConnections: integer("max_connections").notNull().default(10),
    /** Addresses and ranges; empty allows any. */
    ipAllow: text("ip_allow").array().notNull().default([]),
    expiresAt: moment("expires_at"),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastUsedAt: moment("last_used_at"),
  },
  (table) => [
    index("bi_keys_owner_id_index").on(table.ownerId),
    check("bi_keys_state_is_known", sql`${table.state} in ('active', 'inactive')`),
  ],
);

/** What was asked with BI keys and sessions, without values, for 30 days. Partitioned by UTC day in the migration. */
export const biStatements = pgTable(
  "bi_statements",
  {
    day: date("day", { mode: "string" }).notNull(),
    /** `bis_` and 22 base62 characters. */
    id: text("id").notNull(),
    /** The BI key (`bik_`) or the user (`usr_`). No reference, because the lines of a deleted one stay. */
    principalId: text("principal_id").notNull(),
    via: text("via", { enum: ["port", "query", "list"] }).notNull(),
    /** The text without literals. */
    statement: text("statement").notNull(),
    startedAt: moment("started_at").notNull(),
    milliseconds: bigint("milliseconds", { mode: "number" }).notNull(),
    rows: bigint("rows", { mode: "number" }).notNull(),
    bytes: bigint("bytes", { mode: "number" }).notNull(),
    outcome: text("outcome", { enum: ["ok", "error", "refused", "cut", "cancelled"] }).notNull(),
    /** The SQLSTATE of what was not answered. */
    code: text("code"),
  },
  (table) => [
    primaryKey({ columns: [table.day, table.id] }),
    index("bi_statements_started_at_index").on(table.startedAt, table.id),
    index("bi_statements_principal_id_index").on(table.principalId, table.startedAt, table.id),
  ],
);
