import { eq } from "drizzle-orm";
import { withTransaction } from "../../db/context.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import { BI_KEY_COLUMNS, type IssuedBiKey, newBiKeyText, unknownBiKey } from "./bi-key.ts";
import { recordBiKeyChange } from "./record-bi-key-change.ts";

/** Gives a BI key a new secret; the old one is of no more use. Rejects with `not_found`. */
export async function rotateBiKey(access: Access, actor: Actor, id: string): Promise<IssuedBiKey> {
  const text = newBiKeyText();
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const [key] = await transaction
        .update(biKeys)
        .set({ keyHash: access.hashBiKey(text), lastFour: text.slice(-4) })
        .where(eq(biKeys.id, id))
        .returning(BI_KEY_COLUMNS);
      if (key === undefined) throw unknownBiKey();
      await recordBiKeyChange(transaction, actor, {
        verb: "rotate",
        id,
        fields: { name: key.name },
      });
      return { key, text };
    }),
  );
}
