import { and, eq, type SQL } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { API_KEY_COLUMNS, type ApiKeyRecord, unknownApiKey } from "./api-key-record.ts";

/** The key of this id, if it is among those. Rejects with `not_found`. */
export async function readApiKey(
  db: Db,
  id: string,
  among: SQL | undefined,
): Promise<ApiKeyRecord> {
  const [key] = await db
    .select(API_KEY_COLUMNS)
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), among));
  if (key === undefined) throw unknownApiKey();
  return key;
}
