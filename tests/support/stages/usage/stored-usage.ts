import type { Database } from "../../../../src/db/database.ts";
import { openDatabase } from "../../../../src/db/open-db.ts";
import { journalCheckpoints, usageRecords } from "../../../../src/db/tables/usage.ts";
import { createLog } from "../../../../src/lib/log.ts";

export type StoredUsage = typeof usageRecords.$inferSelect;

export interface StoreSettings {
  readonly DATA_DIR: string;
  readonly DATABASE_URL?: string | undefined;
}

/** The usage rows of a server that has stopped, the oldest first; models without Ollama's default tag. */
export async function readUsageRows(settings: StoreSettings): Promise<readonly StoredUsage[]> {
  return withStore(settings, async ({ db }) => {
    const rows = await db.select().from(usageRecords).orderBy(usageRecords.startedAt);
    return rows.map((row) => ({ ...row, model: row.model.replace(/:latest$/, "") }));
  });
}

/** Forgets all usage, and how far the journals were read. */
export async function clearUsageRows(settings: StoreSettings): Promise<void> {
  await withStore(settings, async ({ db }) => {
    await db.delete(usageRecords);
    await db.delete(journalCheckpoints);
  });
}

/** Works on the database of a server that has stopped. */
export async function withStore<Result>(
  settings: StoreSettings,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL } = settings;
  const pool = { DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 10_000 };
  const database = await openDatabase({ ...settings, DATABASE_URL, ...pool }, createLog("error"));
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
