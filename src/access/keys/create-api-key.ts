import { eq } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { type AdminSet, apiKeys } from "../../db/tables/api-keys.ts";
import { randomBase62 } from "../../lib/id.ts";
import { auditDetails, recordAudit } from "../audit/record-audit.ts";
import type { HashCredential } from "../hash-credential.ts";
import { API_KEY_COLUMNS, type ApiKeyPatch, type ApiKeyRecord } from "./api-key-record.ts";

import { FULL_SCOPE } from "./refuse-more-rights.ts";

export interface NewApiKey extends ApiKeyPatch {
  readonly name: string;
  readonly ownerId: string;
  /** The values that the owner may not raise; none unless given. */
  readonly adminSet?: AdminSet;
  /** The whole key, `sk-…`; only its hash and its last characters are stored. */
  readonly text: string;
  /** A new id unless given. */
  readonly id?: string;
  /** The next number of the counter of keys unless given. */
  readonly changeSeq?: number;
  /** The current time unless given. */
  readonly createdAt?: Date;
}

const ID_LENGTH = 22;
const RANDOM_LENGTH = 43;

export function newApiKeyId(): string {
  return `key_${randomBase62(ID_LENGTH)}`;
}

/** Generates the text of a new key: `sk-` and 43 base62 characters, 256 bits. */
export function newApiKeyText(): string {
  return `sk-${randomBase62(RANDOM_LENGTH)}`;
}

/**
 * Stores a key. Limits that are not given do not apply. Returns undefined when a key has this secret already, or had it
 * until its last rotation, because a replaced secret must not come back.
 */
export async function createApiKey(
  transaction: Db,
  { text, id = newApiKeyId(), changeSeq: given, toolScope = FULL_SCOPE, ...fields }: NewApiKey,
  hashApiKey: HashCredential,
): Promise<ApiKeyRecord | undefined> {
  const keyHash = hashApiKey(text);
  const changeSeq = given ?? (await nextChange(transaction, "api_keys"));
  const [replaced] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(eq(apiKeys.previousKeyHash, keyHash));
  if (replaced !== undefined) return undefined;
  const [row] = await transaction
    .insert(apiKeys)
    .values({ ...fields, toolScope, id, keyHash, lastFour: text.slice(-4), changeSeq })
    .onConflictDoNothing({ target: apiKeys.keyHash })
    .returning(API_KEY_COLUMNS);
  return row;
}

/** Creates a key that the service itself provides at a start. Returns false when `createApiKey` creates no key. */
export async function provideApiKey(
  transaction: Db,
  key: NewApiKey,
  hashApiKey: HashCredential,
): Promise<boolean> {
  const row = await createApiKey(transaction, key, hashApiKey);
  if (row === undefined) return false;
  const { id, name, ownerId, lastFour, passthrough } = row;
  await recordAudit(transaction, null, {
    action: "api_key.create",
    targetKind: "api_key",
    targetId: id,
    details: auditDetails({ name, passthrough, ownerId, lastFour }),
  });
  return true;
}
