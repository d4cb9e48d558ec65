import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import type { TableDescription } from "./describe-tables.ts";
import { quoteName } from "./describe-tables.ts";
import { closeCursor, fetchRows, openCursor, type Row } from "./row-cursor.ts";
import { describeContent, type Snapshot, writeStandardTexts } from "./snapshot.ts";

/** A moment in the history of a database, as the number of the first transaction after it. */
type Moment = string;

/**
 * A snapshot of the embedded database, whose one session a lasting transaction would keep from everybody else.
 *
 * The moment is taken in a short one: at its end the database puts aside what the cursors of most tables will read. The
 * rows of partitioned tables are by far the most, and they are only ever added: they are put aside a partition at a time,
 * those that were there at that moment. Others come in between any two looks.
 */
export async function holdSnapshot(db: Db): Promise<Snapshot> {
  const cursors = new Map<string, string>();
  const { moment, ...content } = await withTransaction(db, async (transaction) => {
    const described = await describeContent(transaction);
    const later = await tablesToReadLater(transaction);
    for (const { name, columns } of described.tables) {
      if (later.has(name)) continue;
      const cursor = await openCursor(transaction, { relation: name, columns, isHeld: true });
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
 * Partitioned tables of which no row can move from one partition to another meanwhile: to a new partition go those rows
 * alone that had none of their own, and there are none.
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

/** The rows of a partition that were there at that moment; none of one that is past its retention by now. */
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
    // Numbers of transactions go round in a circle: which is the older one is told by their ages.
    const where = `age(xmin) > age('${moment}'::xid)`;
    return openCursor(transaction, { relation: name, columns, isHeld: true, where });
  });
  if (cursor !== undefined) yield* fetchRows(db, cursor, columns);
}
