import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import type { TableDescription } from "./describe-tables.ts";
import { listTableParts, quoteName } from "./describe-tables.ts";
import {
  closeCursor,
  fetchRows,
  HELD_ROWS_FUNCTION,
  openCursor,
  type Row,
  type RowCursor,
} from "./row-cursor.ts";
import { describeContent, type Snapshot } from "./snapshot.ts";

/** Partitioned tables whose rows are never changed: a changed row would be missing in a later reading. */
const ONLY_ADDED: ReadonlySet<string> = new Set(["usage_records", "workflow_rows"]);

/** A moment in the history of a database, given as the number of the first transaction after it. */
type Moment = string;

/** A table's rows: those that are held, and the partitions that are read later. */
interface Held {
  readonly cursor: RowCursor | undefined;
  readonly later: readonly string[];
}

/**
 * Takes a snapshot of the embedded database, which has one session that a long transaction would block for all others.
 *
 * The moment is fixed in one transaction: at its end the database materializes the rows of the cursors, of most tables
 * all of them, on the disk where they are many. Everything else waits for that, some two seconds for 100,000 chunks.
 * Usage and the rows of workflows are by far the most, and they are only ever added. They are materialized one
 * partition at a time, limited to the rows of that moment. Other statements run between any two reads.
 */
export async function holdSnapshot(db: Db): Promise<Snapshot> {
  const held = new Map<string, Held>();
  const { moment, ...content } = await withTransaction(db, async (transaction) => {
    const described = await describeContent(transaction);
    await transaction.execute(HELD_ROWS_FUNCTION);
    const parts = await listTableParts(transaction);
    for (const table of described.tables) {
      const own = ONLY_ADDED.has(table.name) ? parts.get(table.name) : undefined;
      // Rows without a partition of their own move to a new one, which is not read later.
      const relation = own === undefined ? table.name : own.rest;
      const cursor =
        relation === null ? undefined : await openCursor(transaction, cursorOf(table, relation));
      held.set(table.name, { cursor, later: own?.bounded ?? [] });
    }
    return { ...described, moment: await thisMoment(transaction) };
  });
  return {
    ...content,
    async *rows(table) {
      const { cursor, later = [] } = held.get(table.name) ?? {};
      if (cursor !== undefined) yield* fetchRows(db, cursor);
      for (const name of later) yield* readPartition(db, { name, table, moment });
    },
    async close() {
      for (const { cursor } of held.values()) {
        if (cursor !== undefined) await closeCursor(db, cursor);
      }
    },
  };
}

function cursorOf({ columns, where }: TableDescription, relation: string) {
  return { relation, columns, where, isHeld: true };
}

async function thisMoment(transaction: Db): Promise<Moment> {
  const [row] = await transaction.execute<{ moment: Moment }>(
    sql`select pg_snapshot_xmax(pg_current_snapshot())::xid::text as moment`,
  );
  if (row === undefined) throw new Error("the database does not tell where it is");
  return row.moment;
}

interface PartitionRead {
  readonly name: string;
  readonly table: TableDescription;
  readonly moment: Moment;
}

/**
 * Yields the rows of a partition that existed at that moment; a partition dropped after its retention yields no rows.
 */
async function* readPartition(
  db: Db,
  { name, table, moment }: PartitionRead,
): AsyncGenerator<readonly Row[]> {
  const cursor = await withTransaction(db, async (transaction) => {
    const [found] = await transaction.execute<{ is_there: boolean }>(
      sql`select to_regclass(${quoteName(name)}) is not null as is_there`,
    );
    if (found?.is_there !== true) return undefined;
    // Transaction numbers wrap around, so their ages are compared.
    const where = `age(xmin) > age('${moment}'::xid)`;
    return openCursor(transaction, { ...cursorOf(table, name), where });
  });
  if (cursor !== undefined) yield* fetchRows(db, cursor);
}
