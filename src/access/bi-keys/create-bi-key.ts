import { withTransaction } from "../../db/context.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import { BI_KEY_COLUMNS, type BiKeyFields, type IssuedBiKey, newBiKeyText } from "./bi-key.ts";
import { recordBiKeyChange } from "./record-bi-key-change.ts";

const ID_LENGTH = 22;

/** Makes an active BI key that the actor owns. */
export async function createBiKey(
  access: Access,
  actor: Actor,
  fields: Omit<BiKeyFields, "state">,
): Promise<IssuedBiKey> {
  const text = newBiKeyText();
  const row = {
    ...fields,
    id: `bik_${randomBase62(ID_LENGTH)}`,
    keyHash: access.hashBiKey(text),
    lastFour: text.slice(-4),
    ownerId: actor.caller.ownerId,
    createdAt: new Date(access.clock.now()),
  };
  return access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await confirmActor(transaction, access, actor);
      const [key] = await transaction.insert(biKeys).values(row).returning(BI_KEY_COLUMNS);
      if (key === undefined) throw new Error("the insert of a BI key gave no row");
      await recordBiKeyChange(transaction, actor, { verb: "create", id: key.id, fields });
      return { key, text };
    }),
  );
}
