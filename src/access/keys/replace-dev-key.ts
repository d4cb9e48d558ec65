import { and, eq, ne } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { apiKeys, deletedApiKeys } from "../../db/tables/api-keys.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { HashCredential } from "../hash-credential.ts";
import type { NewApiKey } from "./create-api-key.ts";
import { FULL_SCOPE } from "./refuse-more-rights.ts";

/** The id is fixed, so that a developer's runs share one key and its usage, and no other key is ever replaced. */
const DEV_KEY_ID = "key_dev";

/** Makes `text` the secret of the developer's key; the secret of the previous run stops working. */
export async function replaceDevKey(
  transaction: Db,
  { name, ownerId, text }: NewApiKey,
  hashApiKey: HashCredential,
): Promise<void> {
  const keyHash = hashApiKey(text);
  const [other] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.keyHash, keyHash), ne(apiKeys.id, DEV_KEY_ID)));
  if (other !== undefined) return;
  const [before] = await transaction
    .select({ keyHash: apiKeys.keyHash, state: apiKeys.state })
    .from(apiKeys)
    .where(eq(apiKeys.id, DEV_KEY_ID));
  if (before?.keyHash === keyHash && before.state === "active") return;
  const changeSeq = await nextChange(transaction, "api_keys");
  const lastFour = text.slice(-4);
  const secret = { keyHash, lastFour, state: "active" as const, changeSeq };
  await transaction
    .insert(apiKeys)
    .values({ id: DEV_KEY_ID, name, ownerId, toolScope: FULL_SCOPE, ...secret })
    .onConflictDoUpdate({ target: apiKeys.id, set: secret });
  // A deleted key is created again with the same id. The record of its deletion would remove it from every reader's
  // cache.
  await transaction.delete(deletedApiKeys).where(eq(deletedApiKeys.id, DEV_KEY_ID));
  await recordAudit(transaction, null, {
    action: before === undefined ? "api_key.create" : "api_key.rotate",
    targetKind: "api_key",
    targetId: DEV_KEY_ID,
    details: { name, last_four: lastFour },
  });
}
