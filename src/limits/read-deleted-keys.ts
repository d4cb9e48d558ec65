import { gt, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { deletedApiKeys } from "../db/tables/api-keys.ts";

/** The ids of the keys that were deleted in the last two hours. */
export async function readDeletedKeys(db: Db): Promise<string[]> {
  const rows = await db
    .select({ id: deletedApiKeys.id })
    .from(deletedApiKeys)
    .where(gt(deletedApiKeys.deletedAt, sql`now() - interval '2 hours'`));
  return rows.map(({ id }) => id);
}
