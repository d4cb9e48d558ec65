import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../context.ts";
import { type DayTable, listDays, nameOfDay, otherDays } from "./day-table.ts";
import { withUpkeepLock } from "./upkeep-lock.ts";

/** Dropping a day locks the whole table for a moment: inserts and reads wait at most this long. */
const LOCK_TIMEOUT_MS = 200;
const DELETED_ROWS = 2_000;
/** Rows beyond this number wait for the next purge. */
const DELETES_MAX = 500;

export interface DropOptions {
  /** The beginning of the first day that is kept, in Unix milliseconds. */
  readonly cutoff: number;
  /** Earlier days that are kept as well. */
  readonly kept?: readonly number[];
  /** Counts the rows of a day that is about to be dropped. 0 unless given: counting a large day takes too long. */
  readonly countRows?: (transaction: Db, day: number) => Promise<number>;
}

/** The number of days and rows that a purge removed. */
export interface Dropped {
  readonly days: number;
  readonly rows: number;
  /** False when something is left to drop: a reader holds it, or it is too much for one purge. */
  readonly isDone: boolean;
}

/**
 * Drops the UTC days before `cutoff`: each as a whole, or the rows of a day without a partition in small batches. A day
 * that is being read is left for the next time.
 */
export async function dropDays(db: Db, table: DayTable, options: DropOptions): Promise<Dropped> {
  const { cutoff, kept = [] } = options;
  const old = (await listDays(db, table)).filter((day) => day < cutoff && !kept.includes(day));
  const lock = { lock: table.lock, timeoutMs: LOCK_TIMEOUT_MS };
  let days = 0;
  let rows = 0;
  let isDone = true;
  for (const day of old) {
    let dropped: number | undefined;
    const isGone = await withUpkeepLock(db, lock, async (transaction) => {
      dropped = await dropDay(transaction, table, { ...options, day });
    });
    if (!isGone) isDone = false;
    else if (dropped !== undefined) {
      days += 1;
      rows += dropped;
    }
  }
  const strays = await deleteStrays(db, table, options);
  return { days, rows: rows + strays.rows, isDone: isDone && strays.isDone };
}

/** Returns the number of its rows; undefined when another replica was faster. */
async function dropDay(
  transaction: Db,
  table: DayTable,
  { day, countRows }: DropOptions & { readonly day: number },
): Promise<number | undefined> {
  const name = nameOfDay(table, day);
  const [present] = await transaction.execute<{ is_there: boolean }>(
    sql`select to_regclass(${name}) is not null as is_there`,
  );
  if (present?.is_there !== true) return undefined;
  const rows = await countRows?.(transaction, day);
  await transaction.execute(sql`drop table ${sql.identifier(name)}`);
  return rows ?? 0;
}

async function deleteStrays(
  db: Db,
  table: DayTable,
  { cutoff, kept = [] }: DropOptions,
): Promise<Pick<Dropped, "rows" | "isDone">> {
  const [others, column] = [otherDays(table), sql.identifier(table.column)];
  const before = new Date(cutoff).toISOString();
  const isOld = sql`${column} < ${before}${sql.join(kept.map((day) => exceptDay(column, day)))}`;
  let rows = 0;
  for (let deletes = 0; deletes < DELETES_MAX; deletes += 1) {
    const deleted = await db.execute(sql`
      delete from ${others} where ctid = any(array(
        select ctid from ${others} where ${isOld} order by ${column} limit ${DELETED_ROWS}
      )) returning 1`);
    rows += deleted.length;
    if (deleted.length < DELETED_ROWS) return { rows, isDone: true };
  }
  return { rows, isDone: false };
}

function exceptDay(column: ReturnType<typeof sql.identifier>, day: number): SQL {
  return sql` and ${column} <> ${new Date(day).toISOString()}`;
}
