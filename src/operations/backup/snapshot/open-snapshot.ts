import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { isDatasetTable, quoteTable } from "./describe-tables.ts";
import { holdSnapshot } from "./hold-snapshot.ts";
import { fetchRows, openCursor } from "./row-cursor.ts";
import { describeContent, type Snapshot } from "./snapshot.ts";

/** Opens a snapshot of all tables. Throws a BackupError when there are no tables of the gateway. */
export function openSnapshot({ db, kind }: Pick<Database, "db" | "kind">): Promise<Snapshot> {
  return kind === "postgres" ? readInTransaction(db) : holdSnapshot(db);
}

/** Takes a snapshot as one transaction, beside which others work. */
async function readInTransaction(db: Db): Promise<Snapshot> {
  const { transaction, end } = await beginReading(db);
  try {
    const content = await describeContent(transaction);
    await keepDatasets(transaction, content);
    return {
      ...content,
      async *rows({ name, columns, where }) {
        const cursor = await openCursor(transaction, {
          ...{ relation: name, columns, isHeld: false },
          ...(where !== undefined && { where }),
        });
        yield* fetchRows(transaction, cursor);
      },
      close: end,
    };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

/** Tables of datasets are replaced by others and dropped, which waits for the backup now. */
async function keepDatasets(transaction: Db, { tables }: Pick<Snapshot, "tables">): Promise<void> {
  const names = tables.map(({ name }) => name).filter(isDatasetTable);
  if (names.length === 0) return;
  const list = names.map(quoteTable).join(", ");
  await transaction.execute(sql.raw(`lock table ${list} in access share mode`));
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
