import { openDatabase } from "../../src/db/open-db.ts";
import { usageRecords } from "../../src/db/tables/usage.ts";
import { createLog } from "../../src/lib/log.ts";

export type StoredUsage = typeof usageRecords.$inferSelect;

/** The usage rows of a server that has stopped, the oldest first; models without Ollama's default tag. */
export async function readUsageRows(settings: {
  readonly DATA_DIR: string;
  readonly DATABASE_URL?: string | undefined;
}): Promise<readonly StoredUsage[]> {
  const database = await openDatabase(
    { ...settings, DATABASE_URL: settings.DATABASE_URL, DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 10_000 },
    createLog("error"),
  );
  try {
    const rows = await database.db.select().from(usageRecords).orderBy(usageRecords.startedAt);
    return rows.map((row) => ({ ...row, model: row.model.replace(/:latest$/, "") }));
  } finally {
    await database.close();
  }
}
