import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import { HALF_RESTORED } from "../../../db/migrate.ts";
import { inGroups } from "../../../lib/in-groups.ts";
import {
  describePartitions,
  describeTables,
  listDatasetTables,
  listFunctions,
  quoteName,
  quoteTable,
} from "../snapshot/describe-tables.ts";

/**
 * Tables that one transaction creates or drops: each takes some ten locks, and PostgreSQL has room for a few thousand.
 */
export const TABLES_A_TRANSACTION = 32;

/**
 * Marks a database as half restored from this backup, in the transaction that makes its tables. No release starts on
 * it, whatever DATA_DIR it is given.
 */
export async function markHalf(transaction: Db, backupId: string): Promise<void> {
  await transaction.execute(sql`
    insert into drizzle.__drizzle_migrations (hash, created_at) values (${markOf(backupId)}, ${HALF_RESTORED})`);
}

/** Removes the mark, in the transaction that makes the database whole. */
export async function unmarkHalf(transaction: Db): Promise<void> {
  await transaction.execute(
    sql`delete from drizzle.__drizzle_migrations where created_at = ${HALF_RESTORED}`,
  );
}

/** Returns whether a restore of this backup has begun to fill the database and was not finished. */
export async function isHalf(db: Db, backupId: string): Promise<boolean> {
  const [present] = await db.execute<{ found: boolean }>(
    sql`select to_regclass('drizzle.__drizzle_migrations') is not null as found`,
  );
  if (present?.found !== true) return false;
  const marks = await db.execute(sql`
    select from drizzle.__drizzle_migrations where created_at = ${HALF_RESTORED} and hash = ${markOf(backupId)}`);
  return marks.length > 0;
}

/**
 * Empties a half restored database, which was empty before that restore. It stays marked until the last transaction.
 * @param onStep called after each transaction.
 */
export async function removeHalf(db: Db, onStep: () => void): Promise<void> {
  const partitions = (await describePartitions(db)).map(({ name }) => name);
  for (const group of inGroups(
    [...partitions, ...(await listDatasetTables(db))],
    TABLES_A_TRANSACTION,
  )) {
    await db.execute(sql.raw(`drop table ${group.map(quoteTable).join(", ")}`));
    onStep();
  }
  await withTransaction(db, async (transaction) => {
    await transaction.execute(sql`drop schema if exists drizzle, datasets cascade`);
    const tables = (await describeTables(transaction)).map(({ name }) => quoteName(name));
    if (tables.length > 0)
      await transaction.execute(sql.raw(`drop table ${tables.join(", ")} cascade`));
    for (const signature of await listFunctions(transaction)) {
      await transaction.execute(sql.raw(`drop function ${signature} cascade`));
    }
  });
  onStep();
}

function markOf(backupId: string): string {
  return `half restored from ${backupId}`;
}
