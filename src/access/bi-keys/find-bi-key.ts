import { eq } from "drizzle-orm";
import { biKeys } from "../../db/tables/bi-keys.ts";
import type { Access } from "../access.ts";
import { BI_KEY_COLUMNS, type BiKey, unknownBiKey } from "./bi-key.ts";

/** Rejects with `not_found`. */
export async function findBiKey(
  { database }: Pick<Access, "database">,
  id: string,
): Promise<BiKey> {
  const [key] = await database.ask((db) =>
    db.select(BI_KEY_COLUMNS).from(biKeys).where(eq(biKeys.id, id)),
  );
  if (key === undefined) throw unknownBiKey();
  return key;
}
