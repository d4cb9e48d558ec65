import { ServiceError } from "../../core/service-error.ts";
import { withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import { confirmActor } from "../confirm-actor.ts";
import type { ApiKeyPatch, IssuedApiKey } from "./api-key-record.ts";
import { createApiKey, newApiKeyText } from "./create-api-key.ts";
import { requireKeyChanges } from "./key-rights.ts";
import { recordApiKeyChange } from "./record-api-key-change.ts";
import { refuseMoreRights } from "./refuse-more-rights.ts";
import { adminSetOfNewKey, refuseRaise } from "./refuse-raise.ts";
import { refuseTooManyKeys } from "./refuse-too-many-keys.ts";

const FOREIGN_KEY_VIOLATION = "23503";

export interface AskedApiKey {
  readonly fields: ApiKeyPatch & { readonly name: string };
  /** Undefined: the actor. */
  readonly ownerId: string | undefined;
}

/**
 * Makes a key. Rejects with `insufficient_permission` for a restricted key, for a key that gives more than it has, for a
 * user who is no administrator and asks for more than `read_only` or for another's key; with `not_found` for an owner who does not exist; with `invalid_value` for one who has as many as a user may have.
 */
export async function issueApiKey(
  access: Access,
  actor: Actor,
  { fields, ownerId = actor.caller.ownerId }: AskedApiKey,
): Promise<IssuedApiKey> {
  requireKeyChanges(actor.caller);
  if (actor.caller.role !== "admin" && ownerId !== actor.caller.ownerId) throw notForOthers();
  const text = newApiKeyText();
  refuseRaise(actor.caller, fields);
  const createdAt = new Date(access.clock.now());
  const adminSet = adminSetOfNewKey(actor.caller, fields);
  const key = await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      const asked = { ...fields, ownerId, text, createdAt, adminSet };
      const row = await createApiKey(transaction, asked, access.hashApiKey).catch(ownerUnknown);
      await confirmActor(transaction, access, actor);
      await refuseMoreRights(transaction, actor.caller, fields);
      await refuseTooManyKeys(transaction, ownerId);
      if (row === undefined) throw new Error("two new keys are the same");
      const details = { owner_id: ownerId, last_four: row.lastFour };
      await recordApiKeyChange(transaction, actor, { verb: "create", id: row.id, fields, details });
      return row;
    }),
  );
  await access.keys.catchUp();
  return { key, text };
}

function ownerUnknown(thrown: unknown): never {
  if (toDatabaseError(thrown).code !== FOREIGN_KEY_VIOLATION) throw thrown;
  throw new ServiceError("not_found", "There is no user of this id; see GET /api/admin/users.", {
    param: "owner_id",
  });
}

function notForOthers(): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    "Only an administrator issues keys to other users.",
    { param: "owner_id" },
  );
}
