import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { randomBase62 } from "../../../lib/id.ts";
import type { TableDescription } from "./describe-tables.ts";
import { quoteName, quoteTable } from "./describe-tables.ts";

/** The text of every column in order, or null. */
export type Row = readonly (string | null)[];

/** A row may have a megabyte, and nobody knows before the first. */
const FIRST_ROWS = 16;
const FETCH_ROWS_MAX = 500;
/** What a batch should have in characters, by the rows of the batch before. */
const BATCH_CHARACTERS = 4 * 1024 * 1024;

export interface CursorOptions {
  /** The name of the table, or of a partition. */
  readonly relation: string;
  readonly columns: TableDescription["columns"];
  /** Outlives its transaction: the database materializes the rows at the commit. */
  readonly isHeld: boolean;
  /** A condition on the rows, as SQL. */
  readonly where?: string;
}

/** Opens a cursor over rows, within a transaction, and returns its name. */
export async function openCursor(transaction: Db, options: CursorOptions): Promise<string> {
  const { relation, columns, isHeld, where = "true" } = options;
  const cursor = `backup_${randomBase62(12).toLowerCase()}`;
  const texts = columns.map(({ name }) => `${quoteName(name)}::text as ${quoteName(name)}`);
  const query = `select ${texts.join(", ")} from ${quoteTable(relation)} where ${where}`;
  const hold = isHeld ? "with hold" : "";
  await transaction.execute(sql.raw(`declare ${cursor} no scroll cursor ${hold} for ${query}`));
  return cursor;
}

/** Yields all rows of a cursor, in batches; closes it after the last. */
export async function* fetchRows(
  db: Db,
  cursor: string,
  columns: TableDescription["columns"],
): AsyncGenerator<readonly Row[]> {
  let count = FIRST_ROWS;
  try {
    for (;;) {
      const rows = await db.execute<Record<string, string | null>>(
        sql.raw(`fetch ${count} from ${cursor}`),
      );
      if (rows.length === 0) return;
      const batch = rows.map((row) => columns.map(({ name }) => row[name] ?? null));
      count = nextCount(batch);
      yield batch;
    }
  } finally {
    await closeCursor(db, cursor);
  }
}

function nextCount(batch: readonly Row[]): number {
  let characters = 1;
  for (const row of batch) for (const text of row) characters += text?.length ?? 0;
  const count = Math.floor((BATCH_CHARACTERS * batch.length) / characters);
  return Math.min(FETCH_ROWS_MAX, Math.max(1, count));
}

/** Closes a cursor. Never rejects: a cursor lost with its connection is closed, too. */
export async function closeCursor(db: Db, cursor: string): Promise<void> {
  await db.execute(sql.raw(`close ${cursor}`)).catch(() => undefined);
}
