import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  index,
  jsonb,
  pgTable,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const limit = (name: string) => bigint(name, { mode: "number" });

/** Tools and saved connections that a key's assistant may use. */
export interface ToolScope {
  readonly tools: readonly string[];
  readonly sql_connections: readonly string[];
}

/**
 * The values an administrator last set on a key, field by field. Its owner may lower a field but not raise it above
 * this. A field that no administrator set is missing; null is no bound.
 */
export interface AdminSet {
  readonly state?: "active" | "inactive";
  readonly assistantId?: string | null;
  readonly passthrough?: boolean;
  readonly maxLevel?: "read_only" | "write" | "full_auto";
  readonly toolScope?: ToolScope;
  readonly monthlyTokenLimit?: number | null;
  readonly requestLimit?: number | null;
  readonly rpmLimit?: number | null;
  readonly tokenLimit?: number | null;
  readonly ipAllow?: readonly string[];
  /** ISO 8601 in UTC. */
  readonly expiresAt?: string | null;
}

/** API access keys (`sk-`). The secret itself is not stored. */
export const apiKeys = pgTable(
  "api_keys",
  {
    /** `key_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    /** HMAC-SHA256 of the secret, base64url, under a secret kept outside the database. */
    keyHash: text("key_hash").notNull().unique(),
    lastFour: text("last_four").notNull(),
    /** The secret before the last rotation, which works until `previousExpiresAt`. */
    previousKeyHash: text("previous_key_hash").unique(),
    previousExpiresAt: moment("previous_expires_at"),
    state: text("state", { enum: ["active", "inactive"] })
      .notNull()
      .default("active"),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    assistantId: text("assistant_id"),
    passthrough: boolean("passthrough").notNull().default(false),
    maxLevel: text("max_level", { enum: ["read_only", "write", "full_auto"] })
      .notNull()
      .default("read_only"),
    toolScope: jsonb("tool_scope")
      .$type<ToolScope>()
      .notNull()
      .default({ tools: [], sql_connections: [] }),
    /** Limits: null is unlimited, 0 refuses. */
    monthlyTokenLimit: limit("monthly_token_limit"),
    requestLimit: limit("request_limit"),
    rpmLimit: limit("rpm_limit"),
    tokenLimit: limit("token_limit"),
    /** Addresses and ranges; empty allows any. */
    ipAllow: text("ip_allow").array().notNull().default([]),
    expiresAt: moment("expires_at"),
    adminSet: jsonb("admin_set").$type<AdminSet>().notNull().default({}),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastUsedAt: moment("last_used_at"),
    /** Value of the change counter `api_keys` at this row's last change. */
    changeSeq: limit("change_seq").notNull(),
  },
  (table) => [
    index("api_keys_change_seq_index").on(table.changeSeq),
    index("api_keys_owner_id_index").on(table.ownerId),
    // Lists of keys show the newest first.
    index("api_keys_created_at_index").on(table.createdAt, table.id),
    check("api_keys_state_is_known", sql`${table.state} in ('active', 'inactive')`),
    check(
      "api_keys_max_level_is_known",
      sql`${table.maxLevel} in ('read_only', 'write', 'full_auto')`,
    ),
  ],
);

/**
 * Deleted keys. A separate table and not a flag in `api_keys`, because deleting a user deletes the rows of the user's
 * keys. Code that deletes a user must delete the keys first, so that every replica learns of it here.
 */
export const deletedApiKeys = pgTable(
  "deleted_api_keys",
  {
    id: text("id").primaryKey(),
    deletedAt: moment("deleted_at").notNull().defaultNow(),
    changeSeq: limit("change_seq").notNull(),
  },
  (table) => [index("deleted_api_keys_change_seq_index").on(table.changeSeq)],
);

/**
 * The owners of deleted keys. A user's monthly limit includes what these keys have used, so deleting a key does not
 * return its tokens. Kept for longer than two months, which are the months that limits count.
 */
export const formerApiKeys = pgTable(
  "former_api_keys",
  {
    id: text("id").primaryKey(),
    ownerId: text("owner_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    deletedAt: moment("deleted_at").notNull().defaultNow(),
  },
  (table) => [index("former_api_keys_owner_id_index").on(table.ownerId)],
);
