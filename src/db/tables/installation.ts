import { sql } from "drizzle-orm";
import { boolean, check, jsonb, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** One row of facts about this installation, shared by all replicas. */
export const installation = pgTable(
  "installation",
  {
    isOnlyRow: boolean("is_only_row").primaryKey().default(true),
    installedAt: timestamp("installed_at", { withTimezone: true, precision: 3 })
      .notNull()
      .defaultNow(),
    /** Shows whether a replica has the same secret, without revealing the secret. */
    secretFingerprint: text("secret_fingerprint").notNull(),
    /** The id that a license is bound to. Created at the first start, the same on every replica. */
    deviceId: text("device_id"),
    /** The latest time this installation has seen; a clock set back does not lower it. */
    latestSeenAt: timestamp("latest_seen_at", { withTimezone: true, precision: 3 }),
    /** An HMAC over `latestSeenAt`, `installedAt` and the time proven, so that a manually edited row is detected. */
    latestSeenSeal: text("latest_seen_seal"),
    /** The id of the folder that holds the uploaded files, which a file there repeats; null before the first one. */
    filesFolderId: text("files_folder_id"),
    /**
     * Maps each setting's name to a keyed hash of its value at the last start. It shows which settings changed, but not
     * their values.
     */
    settingHashes: jsonb("setting_hashes").$type<Readonly<Record<string, string>>>(),
  },
  (table) => [check("installation_has_one_row", sql`${table.isOnlyRow}`)],
);
