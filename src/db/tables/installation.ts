import { sql } from "drizzle-orm";
import { boolean, check, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** The one row of facts about this installation, shared by all replicas. */
export const installation = pgTable(
  "installation",
  {
    isOnlyRow: boolean("is_only_row").primaryKey().default(true),
    installedAt: timestamp("installed_at", { withTimezone: true, precision: 3 })
      .notNull()
      .defaultNow(),
    /** Tells whether a replica holds the same secret, without telling the secret. */
    secretFingerprint: text("secret_fingerprint").notNull(),
  },
  (table) => [check("installation_has_one_row", sql`${table.isOnlyRow}`)],
);
