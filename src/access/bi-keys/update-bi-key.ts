import { eq } from "drizzle-orm";
import { withTransaction } from "../../db/context.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import { BI_KEY_COLUMNS, type BiKey, type BiKeyPatch, unknownBiKey } from "./bi-key.ts";
import { findBiKey } from "./find-bi-key.ts";
import { recordBiKeyChange } from "./record-bi-key-change.ts";

/** Sets the fields that are given; none is no change. Rejects with `not_found`. */
export async function updateBiKey(
  access: Access,
  actor: Actor,
  { id, fields }: { readonly id: string; readonly fields: BiKeyPatch },
): Promise<BiKey> {
  if (Object.values(fields).every((value) => value === undefined)) return findBiKey(access, id);
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const [key] = await transaction
        .update(biKeys)
        .set(fields)
        .where(eq(biKeys.id, id))
        .returning(BI_KEY_COLUMNS);
      if (key === undefined) throw unknownBiKey();
      await recordBiKeyChange(transaction, actor, { verb: "update", id, fields });
      return key;
    }),
  );
}
