import { bigint, pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core";

/** The files of WATCH_DIRS as they were last told of; what differs from the folder now is news. */
export const watchedFiles = pgTable(
  "watched_files",
  {
    /** As WATCH_DIRS names it, resolved. */
    folder: text("folder").notNull(),
    /** From the folder, with slashes; `/` is the folder itself, and its `size` the inode of the root. */
    path: text("path").notNull(),
    size: bigint("size", { mode: "number" }).notNull(),
    modifiedAt: timestamp("modified_at", { withTimezone: true, precision: 3 }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.folder, table.path] })],
);
