import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { nextBatch } from "../../../db/next-batch.ts";
import { randomBase62 } from "../../../lib/id.ts";
import type { TableDescription } from "./describe-tables.ts";
import { quoteName, quoteTable } from "./describe-tables.ts";

/** The text of every column in order, or null. */
export type Row = readonly (string | null)[];

const FIRST_ROWS = 16;
/** What a batch should have: a row of a dataset may have a megabyte. */
const BATCH_BYTES = 4 * 1024 * 1024;
const FETCH_ROWS = 500;
/** Of a table with lists of numbers: a row may have 50 kB. */
const FETCH_LONG_ROWS = 200;
/** Of a table with bytes: the rows of workflows are in chunks of up to a megabyte, which is two in text. */
const FETCH_CHUNKS = 16;

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
  const has = (wanted: string) => columns.some(({ type }) => type === wanted);
  const longCount = has("real[]") ? FETCH_LONG_ROWS : FETCH_ROWS;
  const most = has("bytea") ? FETCH_CHUNKS : longCount;
  let count = FIRST_ROWS;
  try {
    for (;;) {
      const rows = await db.execute<Record<string, string | null>>(
        sql.raw(`fetch ${count} from ${cursor}`),
      );
      if (rows.length === 0) return;
      count = nextBatch(rows, { bytes: BATCH_BYTES, most });
      yield rows.map((row) => columns.map(({ name }) => row[name] ?? null));
    }
  } finally {
    await closeCursor(db, cursor);
  }
}

/** Closes a cursor. Never rejects: a cursor lost with its connection is closed, too. */
export async function closeCursor(db: Db, cursor: string): Promise<void> {
  await db.execute(sql.raw(`close ${cursor}`)).catch(() => undefined);
}
