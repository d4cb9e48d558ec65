import { and, eq } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { bootstrapKeys } from "../../db/tables/bootstrap-keys.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { HashCredential } from "../hash-credential.ts";
import { type NewApiKey, provideApiKey } from "./create-api-key.ts";

/**
 * Creates the key of BOOTSTRAP_API_KEY, once and never again: a deleted or replaced secret does not come back. An
 * existing key keeps its later changes; only passthrough is added if the setting asks for it.
 *
 * @returns whether the key exists now.
 */
export async function createBootstrapKey(
  transaction: Db,
  key: NewApiKey,
  hashApiKey: HashCredential,
): Promise<boolean> {
  const keyHash = hashApiKey(key.text);
  // This includes a key that was created by a release before this table.
  const noted = await transaction
    .insert(bootstrapKeys)
    .values({ keyHash })
    .onConflictDoNothing()
    .returning({ keyHash: bootstrapKeys.keyHash });
  const isFirst = noted.length > 0;
  if (isFirst && (await provideApiKey(transaction, key, hashApiKey))) return true;
  if (key.passthrough === true) await grantPassthrough(transaction, keyHash);
  const [present] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(eq(apiKeys.keyHash, keyHash));
  return present !== undefined;
}

async function grantPassthrough(transaction: Db, keyHash: string): Promise<void> {
  const fields = { passthrough: true };
  const [granted] = await transaction
    .update(apiKeys)
    .set({ ...fields, changeSeq: await nextChange(transaction, "api_keys") })
    .where(and(eq(apiKeys.keyHash, keyHash), eq(apiKeys.passthrough, false)))
    .returning({ id: apiKeys.id });
  if (granted === undefined) return;
  await recordAudit(transaction, null, {
    action: "api_key.update",
    targetKind: "api_key",
    targetId: granted.id,
    details: fields,
  });
}
