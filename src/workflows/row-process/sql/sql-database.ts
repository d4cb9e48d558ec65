import { join } from "node:path";
import sqlite, { type Database, type Statement } from "node-sqlite3-wasm";
import { checkSqlite } from "../../../lib/sql-gate/tokens/check-sqlite.ts";
import { ProgramFailure } from "../row-work.ts";

const SELECT_MAX_BYTES = 100_000;
const CACHE_KIB = 64 * 1024;
const PAGE_BYTES = 8_192;
/** 4 GiB on disk. */
const PAGES_MAX = (4 * 1024 ** 3) / PAGE_BYTES;

/** The column of a table of which no column is known, because SQLite has no table without any. */
export const PLACEHOLDER = "$ no columns";

/** Opens a database in the folder of the job. Temporary results go to disk as well, so that the memory is bounded. */
export function openDatabase(folder: string): Database {
  const database = new sqlite.Database(join(folder, "rows.db"));
  for (const setting of [
    `page_size = ${PAGE_BYTES}`,
    "journal_mode = OFF",
    "synchronous = OFF",
    "locking_mode = EXCLUSIVE",
    "temp_store = FILE",
    `cache_size = -${CACHE_KIB}`,
    `max_page_count = ${PAGES_MAX}`,
    "trusted_schema = OFF",
  ])
    database.exec(`PRAGMA ${setting}`);
  return database;
}

/** A SELECT as it was written, and as a subquery, which can be nothing else. */
export interface Select {
  readonly text: string;
  readonly wrapped: string;
}

/** Throws a `ProgramFailure` for anything but one reading statement. */
export function readSelect(select: string): Select {
  const { refusal } = checkSqlite(select, { maxBytes: SELECT_MAX_BYTES });
  if (refusal !== undefined)
    throw new ProgramFailure("invalid_sql", `${refusal.message} ${refusal.hint}`);
  const text = select.replace(/[;\s]+$/, "");
  return { text, wrapped: `SELECT * FROM (\n${text}\n)` };
}

/**
 * Prepares the subquery. The text has to be a statement by itself as well, or its brackets could close those around it.
 * It is prepared second: only then is it known to begin as a SELECT, and preparing it has no effect.
 */
export function prepareSelect(database: Database, { text, wrapped }: Select): Statement {
  const statement = database.prepare(wrapped);
  try {
    database.prepare(text).finalize();
  } catch (thrown) {
    statement.finalize();
    throw thrown;
  }
  return statement;
}

/** A name in quotes, whatever characters it has. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function sqlFailure(thrown: unknown): ProgramFailure {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (/disk is full|full/.test(message))
    return new ProgramFailure(
      "row_process_disk",
      "The SELECT needs more than 4 GiB of disk. Work on fewer rows at once.",
      { cause: thrown },
    );
  return new ProgramFailure("invalid_sql", `The SELECT failed: ${message}.`, { cause: thrown });
}
