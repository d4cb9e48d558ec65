import { type SQL, sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import { nextBatch } from "../../../db/next-batch.ts";
import { randomBase62 } from "../../../lib/id.ts";
import type { TableDescription } from "./describe-tables.ts";
import { quoteName, quoteTable } from "./describe-tables.ts";
import { writeStandardTexts } from "./standard-texts.ts";

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
  /**
   * Outlives its transaction: the database materializes the rows at the commit. They are held as they are stored and
   * become text batch by batch: the text of a chunk's vector takes longer than all the rest.
   */
  readonly isHeld: boolean;
  /** A condition on the rows, as SQL. */
  readonly where?: string | undefined;
}

export interface RowCursor extends Pick<CursorOptions, "columns" | "isHeld"> {
  readonly name: string;
}

/** Opens a cursor over rows, within a transaction. */
export async function openCursor(transaction: Db, options: CursorOptions): Promise<RowCursor> {
  const { relation, columns, isHeld, where = "true" } = options;
  const name = `backup_${randomBase62(12).toLowerCase()}`;
  const names = columns.map((column) => quoteName(column.name)).join(", ");
  const query = `select ${isHeld ? names : textsOf(columns)} from ${quoteTable(relation)} where ${where}`;
  const hold = isHeld ? "with hold" : "";
  await transaction.execute(sql.raw(`declare ${name} no scroll cursor ${hold} for ${query}`));
  return { name, columns, isHeld };
}

/** Yields all rows of a cursor, in batches; closes it after the last. */
export async function* fetchRows(db: Db, cursor: RowCursor): AsyncGenerator<readonly Row[]> {
  const { columns } = cursor;
  const has = (wanted: string) => columns.some(({ type }) => type === wanted);
  const longCount = has("real[]") ? FETCH_LONG_ROWS : FETCH_ROWS;
  const most = has("bytea") ? FETCH_CHUNKS : longCount;
  let count = FIRST_ROWS;
  try {
    for (;;) {
      const rows = await fetchBatch(db, cursor, count);
      if (rows.length === 0) return;
      count = nextBatch(rows, { bytes: BATCH_BYTES, most });
      yield rows.map((row) => columns.map(({ name }) => row[name] ?? null));
    }
  } finally {
    await closeCursor(db, cursor);
  }
}

/** Closes a cursor. Never rejects: a cursor lost with its connection is closed, too. */
export async function closeCursor(db: Db, { name }: RowCursor): Promise<void> {
  await db.execute(sql.raw(`close ${name}`)).catch(() => undefined);
}

/** A statement cannot read from a cursor, and the driver would parse values that are no text. */
export const HELD_ROWS_FUNCTION: SQL = sql.raw(`
  create or replace function pg_temp.held_rows(held refcursor, wanted integer) returns setof record
  language plpgsql as $$
  declare
    line record;
  begin
    for place in 1..wanted loop
      fetch held into line;
      exit when not found;
      return next line;
    end loop;
  end $$`);

type Texts = Readonly<Record<string, string | null>>;

async function fetchBatch(
  db: Db,
  { name, columns, isHeld }: RowCursor,
  count: number,
): Promise<readonly Texts[]> {
  if (!isHeld) return db.execute<Texts>(sql.raw(`fetch ${count} from ${name}`));
  const types = columns.map((column) => `${quoteName(column.name)} ${column.type}`).join(", ");
  return withTransaction(db, async (transaction) => {
    await writeStandardTexts(transaction);
    return transaction.execute<Texts>(
      sql.raw(
        `select ${textsOf(columns)} from pg_temp.held_rows('${name}', ${count}) as line (${types})`,
      ),
    );
  });
}

function textsOf(columns: TableDescription["columns"]): string {
  return columns.map(({ name }) => `${quoteName(name)}::text as ${quoteName(name)}`).join(", ");
}
