import { index, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { users } from "./users.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Service tokens (`sv-`): credentials of programs that administer. The secret itself is not stored. */
export const serviceTokens = pgTable(
  "service_tokens",
  {
    /** `svt_` and 22 base62 characters. */
    id: text("id").primaryKey(),
    name: text("name").notNull(),
    /** HMAC-SHA256 of the secret, base64url, under a secret kept outside the database. */
    tokenHash: text("token_hash").notNull().unique(),
    lastFour: text("last_four").notNull(),
    scopes: text("scopes").array().notNull(),
    /** Addresses and ranges; empty allows any. */
    ipAllow: text("ip_allow").array().notNull().default([]),
    expiresAt: moment("expires_at"),
    /** The token works while this user is an active administrator. */
    createdBy: text("created_by")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    createdAt: moment("created_at").notNull().defaultNow(),
    lastUsedAt: moment("last_used_at"),
  },
  (table) => [index("service_tokens_created_by_index").on(table.createdBy)],
);
