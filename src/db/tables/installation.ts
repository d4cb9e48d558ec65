import { sql } from "drizzle-orm";
import { boolean, check, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";

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
    /** What a license is bound to. Made at the first start, the same on every replica. */
    deviceId: text("device_id"),
    /** The latest time this installation is known to have seen; a clock set back does not lower it. */
    latestSeenAt: timestamp("latest_seen_at", { withTimezone: true, precision: 3 }),
    /** `latestSeenAt`, `installedAt` and the time proven, under an HMAC, so that a row edited by hand is not believed. */
    latestSeenSeal: text("latest_seen_seal"),
    /** Setting name to a keyed hash of its value at the last start: tells which settings changed, never to what. */
    settingHashes: jsonb("setting_hashes").$type<Readonly<Record<string, string>>>(),
  },
  (table) => [check("installation_has_one_row", sql`${table.isOnlyRow}`)],
);
