import type { Db } from "../../db/context.ts";
import type { HashCredential } from "../hash-credential.ts";
import { createApiKey, type NewApiKey } from "./create-api-key.ts";
import { recordApiKeyChange } from "./record-api-key-change.ts";

/** Makes a key that the service itself provides at a start. False where `createApiKey` makes none. */
export async function provideApiKey(
  transaction: Db,
  key: NewApiKey,
  hashApiKey: HashCredential,
): Promise<boolean> {
  const row = await createApiKey(transaction, key, hashApiKey);
  if (row === undefined) return false;
  const { id, name, ownerId, lastFour, passthrough } = row;
  await recordApiKeyChange(transaction, null, {
    verb: "create",
    id,
    fields: { name, passthrough },
    details: { owner_id: ownerId, last_four: lastFour },
  });
  return true;
}
