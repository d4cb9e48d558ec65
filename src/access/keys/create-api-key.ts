import { eq } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { type AdminSet, apiKeys } from "../../db/tables/api-keys.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { HashCredential } from "../hash-credential.ts";
import { API_KEY_COLUMNS, type ApiKeyPatch, type ApiKeyRecord } from "./api-key-record.ts";

export interface NewApiKey extends ApiKeyPatch {
  readonly name: string;
  readonly ownerId: string;
  /** What its owner may not raise; nothing unless given. */
  readonly adminSet?: AdminSet;
  /** The whole key, `sk-…`; only its hash and its end are kept. */
  readonly text: string;
  /** Now, unless given. */
  readonly createdAt?: Date;
}

const ID_LENGTH = 22;
const RANDOM_LENGTH = 43;

/** A new key's text: `sk-` and 43 base62 characters, 256 bits. */
export function newApiKeyText(): string {
  return `sk-${randomBase62(RANDOM_LENGTH)}`;
}

/**
 * Stores a key, without the limits that are not given; undefined when that very key is there already, or was until its
 * last rotation: a secret that was replaced is not to come back.
 */
export async function createApiKey(
  transaction: Db,
  { text, ...fields }: NewApiKey,
  hashApiKey: HashCredential,
): Promise<ApiKeyRecord | undefined> {
  const keyHash = hashApiKey(text);
  const changeSeq = await nextChange(transaction, "api_keys");
  const [replaced] = await transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(eq(apiKeys.previousKeyHash, keyHash));
  if (replaced !== undefined) return undefined;
  const id = `key_${randomBase62(ID_LENGTH)}`;
  const [row] = await transaction
    .insert(apiKeys)
    .values({ ...fields, id, keyHash, lastFour: text.slice(-4), changeSeq })
    .onConflictDoNothing({ target: apiKeys.keyHash })
    .returning(API_KEY_COLUMNS);
  return row;
}
