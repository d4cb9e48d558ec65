import { and, count, eq, ne } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { apiKeys, type ToolScope } from "../../db/tables/api-keys.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { change } from "../change.ts";
import {
  type ApiKeyPatch,
  type IssuedApiKey,
  readApiKey,
  requireKeyChanges,
} from "./api-key-record.ts";
import { createApiKey, newApiKeyId, newApiKeyText } from "./create-api-key.ts";
import { refuseAboveToken } from "./refuse-above-token.ts";
import { FULL_SCOPE, refuseMoreRights } from "./refuse-more-rights.ts";
import { adminSetOfNewKey, refuseRaise } from "./refuse-raise.ts";
import { refuseUnknownAssistant } from "./refuse-unknown-assistant.ts";

/** Every replica holds all keys in memory. The limit does not apply to administrators. */
const KEYS_MAX = 1_000;
const FOREIGN_KEY_VIOLATION = "23503";

export interface AskedApiKey {
  readonly fields: ApiKeyPatch & { readonly name: string };
  /** Undefined for the actor itself. */
  readonly ownerId: string | undefined;
}

/**
 * Creates a key. Rejects with `insufficient_permission` for a restricted key, and for a key that grants more rights
 * than it has. It also does so for a user without the administrator role who asks for more than `read_only` or for
 * another user's key. Rejects with `not_found` for an owner or an assistant that does not exist, and with `invalid_value` for an owner
 * with the maximum number of keys.
 */
export async function issueApiKey(
  access: Access,
  actor: AnyActor,
  { fields, ownerId = actor.caller.ownerId }: AskedApiKey,
): Promise<IssuedApiKey> {
  requireKeyChanges(actor.caller);
  if (actor.caller.role !== "admin" && ownerId !== actor.caller.ownerId) throw notForOthers();
  const text = newApiKeyText();
  refuseRaise(actor.caller, fields);
  const createdAt = new Date(access.clock.now());
  const id = newApiKeyId();
  const frame = {
    action: "api_key.create",
    targetKind: "api_key",
    targetId: id,
    counter: { name: "api_keys", catchUp: access.keys.catchUp },
  } as const;
  return change(access, actor, frame, async (transaction, changeSeq) => {
    await refuseUnknownAssistant(transaction, actor.caller, fields.assistantId);
    await refuseAboveToken(transaction, actor.caller, { ownerId, given: fields });
    const toolScope = fields.toolScope ?? (await scopeOfMaker(transaction, actor.caller));
    const adminSet = adminSetOfNewKey(actor.caller, { ...fields, toolScope });
    const asked = { ...fields, toolScope, id, ownerId, text, createdAt, adminSet, changeSeq };
    const key = await createApiKey(transaction, asked, access.hashApiKey).catch(ownerUnknown);
    await refuseMoreRights(transaction, actor.caller, fields);
    await refuseTooManyKeys(transaction, ownerId);
    if (key === undefined) throw new Error("two new keys are the same");
    const details = auditDetails({ ...fields, ownerId, lastFour: key.lastFour });
    return { result: { key, text }, details };
  });
}

/** A key that is made by a key gets its maker's scope, and any other the full one. */
async function scopeOfMaker(transaction: Db, caller: AnyCaller): Promise<ToolScope> {
  if (caller.kind !== "key") return FULL_SCOPE;
  return (await readApiKey(transaction, caller.keyId, undefined)).toolScope;
}

/**
 * Refuses with `invalid_value` when a user without the administrator role has more keys than allowed. Called after the
 * new key is stored. Keys are created one after the other, so that two at once cannot both find room.
 */
async function refuseTooManyKeys(transaction: Db, ownerId: string): Promise<void> {
  const [counted] = await transaction
    .select({ total: count() })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.ownerId))
    .where(and(eq(apiKeys.ownerId, ownerId), ne(users.role, "admin")));
  if ((counted?.total ?? 0) <= KEYS_MAX) return;
  throw new ServiceError(
    "invalid_value",
    `A user has at most ${KEYS_MAX.toLocaleString("en")} API keys; delete some that are no longer used.`,
  );
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
