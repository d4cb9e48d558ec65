import { eq } from "drizzle-orm";
import { apiKeys, deletedApiKeys } from "../../db/tables/api-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { changeApiKey } from "./change-api-key.ts";
import { recordApiKeyChange } from "./record-api-key-change.ts";

/** Deletes a key; its use stays recorded. Rejects as `changeApiKey` does. */
export function deleteApiKey(access: Access, actor: Actor, id: string): Promise<void> {
  return changeApiKey(access, actor, id, async (transaction, { before, changeSeq }) => {
    await transaction.delete(apiKeys).where(eq(apiKeys.id, id));
    await transaction.insert(deletedApiKeys).values({ id, changeSeq });
    const { name, ownerId, lastFour } = before;
    const details = { owner_id: ownerId, last_four: lastFour };
    await recordApiKeyChange(transaction, actor, { verb: "delete", id, fields: { name }, details });
  });
}
