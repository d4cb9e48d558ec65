import { and, eq, gt } from "drizzle-orm";
import type { KeyCaller, Role, ServiceTokenCaller, SessionCaller } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { serviceTokens } from "../db/tables/service-tokens.ts";
import { sessions, users } from "../db/tables/users.ts";
import type { Access } from "./access.ts";
import type { AnyActor } from "./actor.ts";
import { toApiKey } from "./keys/known/api-key.ts";
import { unusableApiKey } from "./keys/known/unusable-api-key.ts";
import { toKnownToken, unusableServiceToken } from "./service-tokens/known-token.ts";
import { sessionOver } from "./sessions/session-over.ts";

/**
 * Refuses an actor who has lost the rights with which the request was accepted. A body may arrive minutes after its
 * headers. Meanwhile the session may have ended, the key may have been deactivated, or the role removed. Called in the
 * transaction of a change, after its first locks. Until the transaction ends, the actor's user cannot be deleted.
 */
export async function confirmActor(
  transaction: Db,
  { clock }: Pick<Access, "clock">,
  { caller }: AnyActor,
): Promise<void> {
  const now = clock.now();
  if (caller.kind === "service_token") return confirmToken(transaction, caller, now);
  const rights =
    caller.kind === "session"
      ? await rightsOfSession(transaction, caller, now)
      : await rightsOfKey(transaction, caller, now);
  const isRestricted = caller.kind === "key" && caller.isRestricted;
  if (rights.role === caller.role && rights.isRestricted === isRestricted) return;
  throw changedMeanwhile();
}

async function confirmToken(
  transaction: Db,
  { tokenId, scopes }: ServiceTokenCaller,
  now: number,
): Promise<void> {
  const [found] = await transaction
    .select({ token: serviceTokens, role: users.role, state: users.state })
    .from(serviceTokens)
    .innerJoin(users, eq(users.id, serviceTokens.createdBy))
    .where(eq(serviceTokens.id, tokenId))
    .for("key share", { of: users });
  if (found === undefined) throw unusableServiceToken();
  const held = toKnownToken(found);
  if (!held.isActive || (held.expiresAt !== null && held.expiresAt <= now)) {
    throw unusableServiceToken();
  }
  if ([...scopes].some((scope) => !held.caller.scopes.has(scope))) throw changedMeanwhile();
}

function changedMeanwhile(): ServiceError {
  return new ServiceError(
    "insufficient_permission",
    "Your permissions changed while the request was in progress; send it again.",
  );
}

interface Rights {
  readonly role: Role;
  readonly isRestricted: boolean;
}

async function rightsOfSession(
  transaction: Db,
  { sessionId }: SessionCaller,
  now: number,
): Promise<Rights> {
  const [found] = await transaction
    .select({ role: users.role })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(
      and(
        eq(sessions.id, sessionId),
        gt(sessions.expiresAt, new Date(now)),
        eq(users.state, "active"),
      ),
    )
    .for("key share", { of: users });
  if (found === undefined) throw sessionOver();
  return { role: found.role, isRestricted: false };
}

async function rightsOfKey(transaction: Db, { keyId }: KeyCaller, now: number): Promise<Rights> {
  const [found] = await transaction
    .select({ key: apiKeys, ownerRole: users.role, ownerState: users.state })
    .from(apiKeys)
    .innerJoin(users, eq(users.id, apiKeys.ownerId))
    .where(eq(apiKeys.id, keyId))
    .for("key share", { of: users });
  if (found === undefined) throw unusableApiKey();
  const { key, ownerRole, ownerState } = found;
  const held = toApiKey({
    ...key,
    ownerRole,
    isOwnerDisabled: ownerState === "disabled",
    // No right depends on the owner's limits.
    ownerMonthlyTokenLimit: null,
    ownerRpmLimit: null,
  });
  if (!held.isActive || (held.expiresAt !== null && held.expiresAt <= now)) throw unusableApiKey();
  return held.caller;
}
