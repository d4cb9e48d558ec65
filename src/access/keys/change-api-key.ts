import { isDeepStrictEqual } from "node:util";
import { eq, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys, deletedApiKeys, formerApiKeys } from "../../db/tables/api-keys.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Access } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { change } from "../change.ts";
import {
  API_KEY_COLUMNS,
  type ApiKeyPatch,
  type ApiKeyRecord,
  type IssuedApiKey,
  readApiKey,
  requireKeyChanges,
  unknownApiKey,
  visibleKeys,
} from "./api-key-record.ts";
import { newApiKeyText } from "./create-api-key.ts";
import { refuseAboveToken } from "./refuse-above-token.ts";
import { refuseMoreRights } from "./refuse-more-rights.ts";
import { refuseRaise, withAdminSet } from "./refuse-raise.ts";
import { refuseUnknownAssistant } from "./refuse-unknown-assistant.ts";

/**
 * Sets the given fields. Rejects as `changeKey` does, for a calling key that grants more rights than it has, and for an
 * owner who raises an administrator's value, and with `not_found` for a new assistant that the actor may not use. A value that an administrator sends binds the owner even if it is
 * unchanged.
 */
export function updateApiKey(
  access: Access,
  actor: AnyActor,
  { id, fields }: { readonly id: string; readonly fields: ApiKeyPatch },
): Promise<ApiKeyRecord> {
  return changeKey(
    access,
    actor,
    { id, verb: "update" },
    async (transaction, before, changeSeq) => {
      const changed = changedFields(before, fields);
      const adminSet = withAdminSet(actor.caller, fields, before.adminSet);
      const isBound = !isDeepStrictEqual(adminSet, before.adminSet);
      if (Object.keys(changed).length === 0 && !isBound) return { result: before, details: null };
      refuseRaise(actor.caller, changed, before.adminSet);
      await refuseMoreRights(transaction, actor.caller, changed, before);
      const { ownerId } = before;
      await refuseAboveToken(transaction, actor.caller, { ownerId, given: changed, had: before });
      await refuseUnknownAssistant(transaction, actor.caller, changed.assistantId);
      const result = await store(transaction, id, { ...changed, adminSet, changeSeq });
      return { result, details: auditDetails(isBound ? fields : changed) };
    },
  );
}

/**
 * Gives a key a new secret. The old one works for another `overlapSeconds`, under all restrictions of the key; a secret
 * replaced before that ends immediately. Rejects as `changeKey` does, and for a calling key with fewer rights than the
 * rotated one.
 */
export function rotateApiKey(
  access: Access,
  actor: AnyActor,
  { id, overlapSeconds }: { readonly id: string; readonly overlapSeconds: number },
): Promise<IssuedApiKey> {
  const text = newApiKeyText();
  const lastFour = text.slice(-4);
  return changeKey(
    access,
    actor,
    { id, verb: "rotate" },
    async (transaction, before, changeSeq) => {
      // The actor then has the key's secret.
      await refuseMoreRights(transaction, actor.caller, before);
      const { ownerId } = before;
      await refuseAboveToken(transaction, actor.caller, { ownerId, given: before });
      const key = await store(transaction, id, {
        // The hash is stored even without an overlap, so that BOOTSTRAP_API_KEY cannot bring it back.
        previousKeyHash: apiKeys.keyHash,
        previousExpiresAt: new Date(access.clock.now() + overlapSeconds * 1_000),
        keyHash: access.hashApiKey(text),
        lastFour,
        changeSeq,
      });
      return {
        result: { key, text },
        details: auditDetails({ name: before.name, overlapSeconds, lastFour }),
      };
    },
  );
}

/** Deletes a key; its usage remains recorded. Rejects as `changeKey` does. */
export function deleteApiKey(access: Access, actor: AnyActor, id: string): Promise<void> {
  return changeKey(
    access,
    actor,
    { id, verb: "delete" },
    async (transaction, before, changeSeq) => {
      const { name, ownerId, lastFour } = before;
      await refuseAboveToken(transaction, actor.caller, { ownerId, given: {} });
      await transaction.delete(apiKeys).where(eq(apiKeys.id, id));
      await transaction.insert(deletedApiKeys).values({ id, changeSeq });
      const former = { ownerId, deletedAt: sql`now()` };
      await transaction
        .insert(formerApiKeys)
        .values({ id, ...former })
        .onConflictDoUpdate({ target: formerApiKeys.id, set: former });
      return { result: undefined, details: auditDetails({ name, ownerId, lastFour }) };
    },
  );
}

interface Changed<Result> {
  readonly result: Result;
  readonly details: JsonObject | null;
}

/**
 * Changes one key. When it resolves, the change holds for the next call. Rejects with `insufficient_permission` for a
 * restricted key, and with `not_found` for a key that the actor may not see.
 */
async function changeKey<Result>(
  access: Access,
  actor: AnyActor,
  { id, verb }: { readonly id: string; readonly verb: "update" | "rotate" | "delete" },
  work: (transaction: Db, before: ApiKeyRecord, changeSeq: number) => Promise<Changed<Result>>,
): Promise<Result> {
  requireKeyChanges(actor.caller);
  const frame = {
    action: `api_key.${verb}`,
    targetKind: "api_key",
    targetId: id,
    counter: { name: "api_keys", catchUp: access.keys.catchUp },
  } as const;
  return change(access, actor, frame, async (transaction, changeSeq) =>
    work(transaction, await readApiKey(transaction, id, visibleKeys(actor.caller)), changeSeq),
  );
}

type Row = Parameters<ReturnType<typeof updateRow>["set"]>[0];
const updateRow = (transaction: Db) => transaction.update(apiKeys);

async function store(transaction: Db, id: string, row: Row): Promise<ApiKeyRecord> {
  const [key] = await updateRow(transaction)
    .set(row)
    .where(eq(apiKeys.id, id))
    .returning(API_KEY_COLUMNS);
  if (key === undefined) throw unknownApiKey();
  return key;
}

function changedFields(before: ApiKeyRecord, fields: ApiKeyPatch): ApiKeyPatch {
  const names = Object.keys(fields) as (keyof ApiKeyPatch)[];
  const changed = names.filter(
    (name) => fields[name] !== undefined && !isDeepStrictEqual(fields[name], before[name]),
  );
  return Object.fromEntries(changed.map((name) => [name, fields[name]]));
}
