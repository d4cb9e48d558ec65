import { type Db, withTransaction } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import type { ApiKeyRecord } from "./api-key-record.ts";
import { requireKeyChanges, visibleKeys } from "./key-rights.ts";
import { readApiKey } from "./read-api-key.ts";

interface ChangedKey {
  readonly before: ApiKeyRecord;
  /** To stamp the row with. */
  readonly changeSeq: number;
}

/**
 * Runs a change of one key in a transaction of its own; changes of keys come one after the other, and when this one
 * resolves it holds for the next call. Rejects with `insufficient_permission` for a restricted key, and with
 * `not_found` for a key that the actor may not see.
 */
export async function changeApiKey<Result>(
  access: Access,
  actor: Actor,
  id: string,
  work: (transaction: Db, key: ChangedKey) => Promise<Result>,
): Promise<Result> {
  requireKeyChanges(actor.caller);
  const result = await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      const changeSeq = await nextChange(transaction, "api_keys");
      await confirmActor(transaction, access, actor);
      const before = await readApiKey(transaction, id, visibleKeys(actor.caller));
      return work(transaction, { before, changeSeq });
    }),
  );
  await access.keys.catchUp();
  return result;
}
