import { sql } from "drizzle-orm";
import { check, index, pgTable, text, timestamp } from "drizzle-orm/pg-core";
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
    /** Names of the datasets it may read; empty allows no dataset. */
    datasets: text("datasets").array().notNull().default([]),
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
