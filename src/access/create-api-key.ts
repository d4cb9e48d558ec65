import type { Db } from "../db/context.ts";
import { nextChange } from "../db/next-change.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { randomBase62 } from "../lib/id.ts";
import type { ApiKeyRow } from "./api-key.ts";
import type { HashApiKey } from "./hash-api-key.ts";

export interface NewApiKey {
  readonly name: string;
  readonly ownerId: string;
  /** The whole key, `sk-…`; only its hash and its end are kept. */
  readonly text: string;
  /** The client's tools and messages reach the model unchanged. */
  readonly passthrough?: boolean;
}

const ID_LENGTH = 22;
const RANDOM_LENGTH = 43;

/** A new key's text: `sk-` and 43 base62 characters, 256 bits. */
export function newApiKeyText(): string {
  return `sk-${randomBase62(RANDOM_LENGTH)}`;
}

/** Stores a key without limits; undefined when that very key is there already. */
export async function createApiKey(
  transaction: Db,
  { name, ownerId, text, passthrough = false }: NewApiKey,
  hashApiKey: HashApiKey,
): Promise<ApiKeyRow | undefined> {
  const [row] = await transaction
    .insert(apiKeys)
    .values({
      id: `key_${randomBase62(ID_LENGTH)}`,
      name,
      ownerId,
      keyHash: hashApiKey(text),
      lastFour: text.slice(-4),
      passthrough,
      changeSeq: await nextChange(transaction, "api_keys"),
    })
    .onConflictDoNothing({ target: apiKeys.keyHash })
    .returning();
  return row;
}
