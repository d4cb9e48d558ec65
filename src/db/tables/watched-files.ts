import { bigint, pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core";

/** The files of WATCH_DIRS as last reported. A difference from the folder's current state is an event. */
export const watchedFiles = pgTable(
  "watched_files",
  {
    /** The path in WATCH_DIRS, resolved. */
    folder: text("folder").notNull(),
    /** Relative to the folder, with slashes. `/` is the folder itself; its `size` is the inode of the root. */
    path: text("path").notNull(),
    size: bigint("size", { mode: "number" }).notNull(),
    modifiedAt: timestamp("modified_at", { withTimezone: true, precision: 3 }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.folder, table.path] })],
);
