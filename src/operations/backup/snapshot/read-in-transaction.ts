import type { Db } from "../../../db/context.ts";
import { fetchRows, openCursor } from "./row-cursor.ts";
import { describeContent, type Snapshot } from "./snapshot.ts";

/** A snapshot that is one transaction, which others work beside. */
export async function readInTransaction(db: Db): Promise<Snapshot> {
  const { transaction, end } = await beginReading(db);
  try {
    const content = await describeContent(transaction);
    return {
      ...content,
      async *rows({ name, columns }) {
        const cursor = await openCursor(transaction, { relation: name, columns, isHeld: false });
        yield* fetchRows(transaction, cursor, columns);
      },
      close: end,
    };
  } catch (thrown) {
    await end();
    throw thrown;
  }
}

interface Reading {
  readonly transaction: Db;
  readonly end: () => Promise<void>;
}

/** Begins a transaction that sees the database as it is now and goes on until it is ended. */
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
