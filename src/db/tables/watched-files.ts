import { bigint, boolean, pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** The folders of WATCH_DIRS. */
export const watchedFolders = pgTable("watched_folders", {
  /** As WATCH_DIRS names it, resolved. */
  folder: text("folder").primaryKey(),
  /** Of the root, when it was last seen; null until the folder was first read to its end. */
  inode: bigint("inode", { mode: "number" }),
  /** A file was seen in it; until then another root is the mount that was not there at the first look. */
  hadFiles: boolean("had_files").notNull().default(true),
  /** When a replica that has it in WATCH_DIRS last said so. */
  namedAt: moment("named_at").notNull(),
});

/** Their files as the last events described them; what differs from the folder now is news. */
export const watchedFiles = pgTable(
  "watched_files",
  {
    /** The path in WATCH_DIRS, resolved. */
    folder: text("folder").notNull(),
    /** From the folder, with slashes. */
    path: text("path").notNull(),
    size: bigint("size", { mode: "number" }).notNull(),
    modifiedAt: moment("modified_at").notNull(),
  },
  (table) => [primaryKey({ columns: [table.folder, table.path] })],
);
