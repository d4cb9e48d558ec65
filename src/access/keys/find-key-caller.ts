import { eq } from "drizzle-orm";
import type { KeyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ApiKeys } from "./known/api-keys.ts";

export interface KeyCallerParts {
  readonly keys: Pick<ApiKeys, "current" | "noteUse" | "catchUp">;
  readonly ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly clock: Clock;
}

/**
 * Returns the caller that a key makes now, for calls that the gateway makes by itself in the name of the key. Its
 * address list does not apply: it says from where the secret may be sent, and here none is sent. A known key is found
 * synchronously. Throws or rejects with `invalid_api_key`, which says to the key's owner why the key may not call.
 */
export type FindKeyCaller = (keyId: string) => KeyCaller | Promise<KeyCaller>;

export function createFindKeyCaller({ keys, ask, clock }: KeyCallerParts): FindKeyCaller {
  const find = (keyId: string): KeyCaller | undefined => {
    const now = clock.now();
    const caller = keys.current(keyId, now);
    if (caller !== undefined) keys.noteUse(keyId, now);
    return caller;
  };
  const findLater = async (keyId: string): Promise<KeyCaller> => {
    // Another replica may have just created it.
    await keys.catchUp();
    const caller = find(keyId);
    if (caller !== undefined) return caller;
    throw new ServiceError("invalid_api_key", await ask((db) => whyUnusable(db, keyId)));
  };
  return (keyId) => find(keyId) ?? findLater(keyId);
}

async function whyUnusable(db: Db, keyId: string): Promise<string> {
  const [row] = await db
    .select({ state: apiKeys.state, owner: users.state })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.ownerId))
    .where(eq(apiKeys.id, keyId));
  if (row === undefined) return "The API key was deleted. Choose another one.";
  if (row.owner === "disabled") return "The owner of the API key is disabled.";
  if (row.state !== "active") return "The API key is not active. Activate it, or choose another.";
  return "The API key has expired. Extend it, or choose another one.";
}
