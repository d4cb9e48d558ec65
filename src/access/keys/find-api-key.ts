import type { Caller } from "../../core/caller.ts";
import type { Access } from "../access.ts";
import type { ApiKeyRecord } from "./api-key-record.ts";
import { visibleKeys } from "./key-rights.ts";
import { readApiKey } from "./read-api-key.ts";

/** A key that the caller may see. Rejects with `not_found`. */
export function findApiKey(
  { database }: Pick<Access, "database">,
  caller: Caller,
  id: string,
): Promise<ApiKeyRecord> {
  return database.ask((db) => readApiKey(db, id, visibleKeys(caller)));
}
