import { and, eq } from "drizzle-orm";
import type { ApiKeyRecord } from "../../access/keys/api-key-record.ts";
import { refuseAboveToken } from "../../access/keys/refuse-above-token.ts";
import { refuseMoreRights } from "../../access/keys/refuse-more-rights.ts";
import type { AnyCaller, SessionCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { StepKinds } from "../steps/registry.ts";
import type { Fault, Step } from "./definition.ts";
import { outside } from "./parse-triggers.ts";

export interface KeyChecks {
  readonly kinds: StepKinds;
  readonly database: Pick<Database, "ask">;
}

/** Whose key calls the models of which steps. */
export interface KeyUse {
  readonly owner: SessionCaller;
  readonly keyId: string | null;
  /**
   * Who decides what the key is used for, and so gets what it may do. Null where it was decided before: who is allowed
   * to starts a workflow whatever its key may do.
   */
  readonly keyGiver: AnyCaller | null;
  readonly steps: readonly Step[];
}

type Rights = Pick<ApiKeyRecord, "passthrough" | "maxLevel" | "toolScope" | "assistantId">;

/** Lists what is wrong with a workflow's key: none where models are called, not the owner's, or more than its giver has. */
export async function checkKey(
  { database, kinds }: KeyChecks,
  { owner, keyId, keyGiver, steps }: KeyUse,
): Promise<readonly Fault[]> {
  if (keyId === null) {
    const [first] = steps.filter(({ kind }) => kinds.find(kind)?.needsKey === true);
    if (first === undefined) return [];
    const message = `'${first.id}' (${first.kind}) calls models, which needs a key. Set the id of one of the owner's API keys.`;
    return [outside("key_id", message)];
  }
  const { id, ownerId, state, passthrough, maxLevel, toolScope, assistantId } = apiKeys;
  const [key] = await database.ask((db) =>
    db
      .select({ state, passthrough, maxLevel, toolScope, assistantId })
      .from(apiKeys)
      .where(and(eq(id, keyId), eq(ownerId, owner.ownerId))),
  );
  if (key === undefined) {
    const message = "The workflow's owner has no API key of this id. Use one of GET /v1/api-keys.";
    return [outside("key_id", message)];
  }
  if (key.state !== "active") {
    return [outside("key_id", "This API key is not active. Activate it, or use another one.")];
  }
  const { state: _, ...rights } = key;
  const excess = keyGiver && (await findExcess(database, keyGiver, { owner, rights }));
  return excess === null ? [] : [outside("key_id", excess)];
}

/**
 * Says what the key may do beyond its giver; null when it is nothing. The rule is that of rotating a key, because whoever
 * writes the steps acts as the key.
 */
async function findExcess(
  { ask }: KeyChecks["database"],
  caller: AnyCaller,
  { owner, rights }: { readonly owner: SessionCaller; readonly rights: Rights },
): Promise<string | null> {
  if (caller.kind === "session") return null;
  try {
    await ask(async (db) => {
      await refuseMoreRights(db, caller, rights);
      await refuseAboveToken(db, caller, { ownerId: owner.ownerId, given: rights });
    });
    return null;
  } catch (thrown) {
    const isRefused =
      thrown instanceof ServiceError &&
      (thrown.code === "insufficient_permission" || thrown.param === "assistant_id");
    if (!isRefused) throw thrown;
    return caller.kind === "key"
      ? `This API key has more ${thrown.param} than the calling one, which would get it by the steps. Use the session of a logged-in user, or a key without more.`
      : "A service token gives steps only a key that it may rotate: of a user who is not an administrator, read_only, without passthrough, with an assistant that the owner may use. Use the session of a logged-in user.";
  }
}
