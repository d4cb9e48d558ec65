import { isDeepStrictEqual } from "node:util";
import { eq } from "drizzle-orm";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { Access } from "../access.ts";
import type { Actor } from "../actor.ts";
import {
  API_KEY_COLUMNS,
  type ApiKeyPatch,
  type ApiKeyRecord,
  unknownApiKey,
} from "./api-key-record.ts";
import { changeApiKey } from "./change-api-key.ts";
import { recordApiKeyChange } from "./record-api-key-change.ts";
import { refuseMoreRights } from "./refuse-more-rights.ts";
import { refuseRaise, withAdminSet } from "./refuse-raise.ts";

/**
 * Sets the fields that are given. Rejects as `changeApiKey` does, for a key that gives more than it has, and for an owner
 * who raises what an administrator set. What an administrator gives binds the owner also where it changes no value.
 */
export function updateApiKey(
  access: Access,
  actor: Actor,
  { id, fields }: { readonly id: string; readonly fields: ApiKeyPatch },
): Promise<ApiKeyRecord> {
  return changeApiKey(access, actor, id, async (transaction, { before, changeSeq }) => {
    const changed = changedFields(before, fields);
    const adminSet = withAdminSet(actor.caller, fields, before.adminSet);
    const isBound = !isDeepStrictEqual(adminSet, before.adminSet);
    if (Object.keys(changed).length === 0 && !isBound) return before;
    refuseRaise(actor.caller, changed, before.adminSet);
    await refuseMoreRights(transaction, actor.caller, changed, before);
    const [key] = await transaction
      .update(apiKeys)
      .set({ ...changed, adminSet, changeSeq })
      .where(eq(apiKeys.id, id))
      .returning(API_KEY_COLUMNS);
    if (key === undefined) throw unknownApiKey();
    const told = isBound ? fields : changed;
    await recordApiKeyChange(transaction, actor, { verb: "update", id, fields: told });
    return key;
  });
}

function changedFields(before: ApiKeyRecord, fields: ApiKeyPatch): ApiKeyPatch {
  const names = Object.keys(fields) as (keyof ApiKeyPatch)[];
  const changed = names.filter(
    (name) => fields[name] !== undefined && !isDeepStrictEqual(fields[name], before[name]),
  );
  return Object.fromEntries(changed.map((name) => [name, fields[name]]));
}
