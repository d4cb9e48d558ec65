import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import type { TableDescription } from "./describe-tables.ts";
import { quoteName } from "./describe-tables.ts";
import { closeCursor, fetchRows, openCursor, type Row } from "./row-cursor.ts";
import { describeContent, type Snapshot, writeStandardTexts } from "./snapshot.ts";

/** Partitioned tables whose rows are never changed: a changed row would be missing in a later reading. */
const ONLY_ADDED: ReadonlySet<string> = new Set(["usage_records", "workflow_rows"]);

/** A moment in the history of a database, given as the number of the first transaction after it. */
type Moment = string;

/**
 * Takes a snapshot of the embedded database, which has one session that a long transaction would block for all others.
 *
 * The moment is fixed in a short transaction: at its end the database materializes the rows of most tables' cursors.
 * Usage and the rows of workflows are by far the most, and they are only ever added. They are materialized one partition
 * at a time, limited to the rows of that moment. Other statements run between any two reads.
 */
export async function holdSnapshot(db: Db): Promise<Snapshot> {
  const cursors = new Map<string, string>();
  const { moment, ...content } = await withTransaction(db, async (transaction) => {
    const described = await describeContent(transaction);
    const later = await tablesToReadLater(transaction);
    for (const { name, columns, where } of described.tables) {
      if (later.has(name)) continue;
      const cursor = await openCursor(transaction, {
        ...{ relation: name, columns, isHeld: true },
        ...(where !== undefined && { where }),
      });
      cursors.set(name, cursor);
    }
    return { ...described, moment: await thisMoment(transaction) };
  });
  return {
    ...content,
    async *rows(table) {
      const cursor = cursors.get(table.name);
      if (cursor !== undefined) {
        yield* fetchRows(db, cursor, table.columns);
        return;
      }
      const parts = content.partitions.filter((partition) => partition.table === table.name);
      for (const { name } of parts) yield* readPartition(db, { name, table, moment });
    },
    async close() {
      for (const cursor of cursors.values()) await closeCursor(db, cursor);
    },
  };
}

/**
 * Returns the partitioned tables whose rows cannot move between partitions in the meantime. Only rows without a
 * partition of their own move to a new one, and these tables have no such rows.
 */
async function tablesToReadLater(transaction: Db): Promise<ReadonlySet<string>> {
  const tables = await transaction.execute<{ name: string; rest: string | null }>(sql`
    select parent.relname as name, rest.relname as rest
    from pg_partitioned_table
    join pg_class parent on parent.oid = partrelid
    left join pg_class rest on rest.oid = partdefid
    where parent.relnamespace = to_regnamespace(quote_ident(current_schema()))`);
  const names = new Set<string>();
  for (const { name, rest } of tables) {
    if (!ONLY_ADDED.has(name)) continue;
    const rows =
      rest === null
        ? []
        : await transaction.execute(sql.raw(`select from ${quoteName(rest)} limit 1`));
    if (rows.length === 0) names.add(name);
  }
  return names;
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
  { name, table: { columns }, moment }: PartitionRead,
): AsyncGenerator<readonly Row[]> {
  const cursor = await withTransaction(db, async (transaction) => {
    await writeStandardTexts(transaction);
    const [found] = await transaction.execute<{ is_there: boolean }>(
      sql`select to_regclass(${quoteName(name)}) is not null as is_there`,
    );
    if (found?.is_there !== true) return undefined;
    // Transaction numbers wrap around, so their ages are compared.
    const where = `age(xmin) > age('${moment}'::xid)`;
    return openCursor(transaction, { relation: name, columns, isHeld: true, where });
  });
  if (cursor !== undefined) yield* fetchRows(db, cursor, columns);
}
