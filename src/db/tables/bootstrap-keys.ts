import { pgTable, text, timestamp } from "drizzle-orm/pg-core";

/**
 * Every key that a start took from its settings, by its hash. It stays when the key is deleted or replaced: a secret
 * that somebody took away is not to come back with the next start.
 */
export const bootstrapKeys = pgTable("bootstrap_keys", {
  keyHash: text("key_hash").primaryKey(),
  createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
});
