import { eq } from "drizzle-orm";
import { withTransaction } from "../../db/context.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import { unknownBiKey } from "./bi-key.ts";
import { recordBiKeyChange } from "./record-bi-key-change.ts";

/** Rejects with `not_found`. */
export async function deleteBiKey(access: Access, actor: Actor, id: string): Promise<void> {
  await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const [gone] = await transaction
        .delete(biKeys)
        .where(eq(biKeys.id, id))
        .returning({ name: biKeys.name });
      if (gone === undefined) throw unknownBiKey();
      await recordBiKeyChange(transaction, actor, { verb: "delete", id, fields: gone });
    }),
  );
}
