import { sql } from "drizzle-orm";
import { bigint, boolean, check, pgTable, text, timestamp } from "drizzle-orm/pg-core";

/** The uploaded license, one for all replicas. Its text is stored, because each replica verifies it itself. */
export const uploadedLicense = pgTable(
  "uploaded_license",
  {
    isOnlyRow: boolean("is_only_row").primaryKey().default(true),
    /** The whole `.lic` file. */
    text: text("text").notNull(),
    uploadedAt: timestamp("uploaded_at", { withTimezone: true, precision: 3 })
      .notNull()
      .defaultNow(),
    uploadedBy: text("uploaded_by"),
    /** Value of the change counter `license` at the last upload. */
    changeSeq: bigint("change_seq", { mode: "number" }).notNull(),
  },
  (table) => [check("uploaded_license_has_one_row", sql`${table.isOnlyRow}`)],
);
