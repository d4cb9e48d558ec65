import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { toDatabaseError } from "../../../db/database-error.ts";
import { ADVISORY_LOCK } from "../../../db/locks/advisory-locks.ts";
import { listTableParts } from "./describe-tables.ts";
import { holdSnapshot } from "./hold-snapshot.ts";
import { type CursorOptions, fetchRows, openCursor, type Row } from "./row-cursor.ts";
import { describeContent, type Snapshot } from "./snapshot.ts";

/** Opens a snapshot of all tables. Throws a BackupError when there are no tables of the gateway. */
export function openSnapshot({ db, kind }: Pick<Database, "db" | "kind">): Promise<Snapshot> {
  return kind === "postgres" ? readInTransaction(db) : holdSnapshot(db);
}

/** Takes a snapshot as one transaction, beside which others work. */
async function readInTransaction(db: Db): Promise<Snapshot> {
  const { transaction, end } = await beginReading(db);
  try {
    await keepDatasets(transaction);
    const content = await describeContent(transaction);
    const parts = await listTableParts(transaction);
    return {
      ...content,
      async *rows({ name, columns, where }) {
        const { bounded, rest } = parts.get(name) ?? { bounded: [name], rest: null };
        for (const relation of rest === null ? bounded : [rest, ...bounded]) {
          const isDroppable = relation !== name && relation !== rest;
          const cursor = { relation, columns, where, isHeld: false };
          yield* readRelation(transaction, cursor, isDroppable);
        }
      },
      close: end,
    };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

/** SQLSTATE of a table that does not exist. */
const UNDEFINED_TABLE = "42P01";

/**
 * Yields the rows of a table or a partition, and gives its locks back: a transaction keeps those of a savepoint only
 * until it is rolled back to. Two years of days, or thousands of datasets, have more tables and indexes than PostgreSQL has
 * room for locks. A partition dropped after its retention yields no rows.
 */
async function* readRelation(
  transaction: Db,
  options: CursorOptions,
  isDroppable: boolean,
): AsyncGenerator<readonly Row[]> {
  const run = (statement: string) => transaction.execute(sql.raw(statement));
  await run("savepoint relation");
  const cursor = await openCursor(transaction, options).catch((thrown: unknown) => {
    if (isDroppable && toDatabaseError(thrown).code === UNDEFINED_TABLE) return undefined;
    throw thrown;
  });
  if (cursor !== undefined) yield* fetchRows(transaction, cursor);
  await run("rollback to savepoint relation");
  await run("release savepoint relation");
}

/**
 * Keeps the tables of datasets from being dropped until the transaction ends. Those that are replaced or deleted are
 * dropped later, and that waits for this lock (`dropOtherTable` of the datasets); one on each table would be too many.
 */
async function keepDatasets(transaction: Db): Promise<void> {
  await transaction.execute(
    sql`select pg_advisory_xact_lock_shared(${ADVISORY_LOCK.datasetTables})`,
  );
}

interface Reading {
  readonly transaction: Db;
  readonly end: () => Promise<void>;
}

/** Begins a transaction that sees the database as it is now and stays open until it is ended. */
function beginReading(db: Db): Promise<Reading> {
  return new Promise((resolve, reject) => {
    const over = db.transaction(
      (transaction) =>
        new Promise<void>((finish) => {
          const end = async () => {
            finish();
            await over.catch(() => undefined);
          };
          resolve({ transaction, end });
        }),
      { isolationLevel: "repeatable read", accessMode: "read only" },
    );
    over.catch(reject);
  });
}
