import { pgTable, text, timestamp } from "drizzle-orm/pg-core";

/**
 * Every key that was created from the settings, by its hash. A row stays when the key is deleted or replaced, so that
 * the next start does not restore a revoked secret.
 */
export const bootstrapKeys = pgTable("bootstrap_keys", {
  keyHash: text("key_hash").primaryKey(),
  createdAt: timestamp("created_at", { withTimezone: true, precision: 3 }).notNull().defaultNow(),
});
