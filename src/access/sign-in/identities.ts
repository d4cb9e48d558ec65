import { and, asc, eq, isNotNull } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { identities, users } from "../../db/tables/users.ts";
import type { Access, UserAccess } from "../access.ts";
import type { Actor, Origin, SessionActor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { change } from "../change.ts";
import { readUser } from "../users/user.ts";
import { lockUsers } from "../users/user-rules.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";

/** An account of a provider that a user signs in with. */
export type Identity = typeof identities.$inferSelect;

export type NewIdentity = Pick<Identity, "issuer" | "subject" | "userId">;

/** Lists the accounts of a user. Rejects with `not_found`. */
export function listIdentities(
  { database }: Pick<Access, "database">,
  userId: string,
): Promise<readonly Identity[]> {
  return database.ask(async (db) => {
    await readUser(db, userId);
    return db
      .select()
      .from(identities)
      .where(eq(identities.userId, userId))
      .orderBy(asc(identities.createdAt));
  });
}

/**
 * Links a user to an account, in place of another one of the same issuer. Rejects with `not_found`, and with
 * `invalid_value` for an account of another user.
 */
export function linkIdentity(
  access: Access,
  actor: Actor,
  identity: NewIdentity,
): Promise<Identity> {
  const { userId } = identity;
  const frame = {
    action: "user.link",
    targetKind: "user",
    targetId: userId,
    lock: lockUsers,
  } as const;
  return change(access, actor, frame, async (transaction) => {
    await readUser(transaction, userId);
    const stored = await store(transaction, identity);
    if (stored === undefined) {
      throw new ServiceError(
        "invalid_value",
        "This account is linked to another user; unlink it there first.",
        { param: "subject" },
      );
    }
    return { result: stored.identity, details: detailsOf(identity, stored) };
  });
}

/** Unlinks a user from all accounts. Sessions go on. Rejects with `not_found`. */
export function unlinkIdentities(access: Access, actor: Actor, userId: string): Promise<void> {
  return change(access, actor, unlinkOf(userId), async (transaction) => {
    await readUser(transaction, userId);
    return removeAll(transaction, userId);
  });
}

/**
 * Unlinks the caller from all accounts. Sessions go on. Rejects with `insufficient_permission` when the caller could not
 * log in any more.
 */
export function unlinkOwnIdentities(access: UserAccess, actor: SessionActor): Promise<void> {
  const { ownerId } = actor.caller;
  return change(access, actor, unlinkOf(ownerId), async (transaction) => {
    const hasPassword = and(eq(users.id, ownerId), isNotNull(users.passwordHash));
    const [found] = await transaction.select({ id: users.id }).from(users).where(hasPassword);
    if (access.oidcOnly || found === undefined) {
      throw new ServiceError(
        "insufficient_permission",
        access.oidcOnly
          ? "Passwords are switched off here, so this account is your only way to log in. Administrators can unlink it."
          : "You have no password, so this account is your only way to log in. Ask an administrator for a password first.",
      );
    }
    return removeAll(transaction, ownerId);
  });
}

function unlinkOf(userId: string) {
  return {
    action: "user.unlink",
    targetKind: "user",
    targetId: userId,
    lock: lockUsers,
  } as const;
}

async function removeAll(transaction: Db, userId: string) {
  const gone = await transaction
    .delete(identities)
    .where(eq(identities.userId, userId))
    .returning();
  return { result: undefined, details: gone.length === 0 ? null : { accounts: gone.length } };
}

/** Links a user in a sign-in. Throws a SignInRefusal for an account of another user. */
export async function bindIdentity(
  transaction: Db,
  origin: Origin,
  identity: NewIdentity,
): Promise<void> {
  const { userId, issuer, subject } = identity;
  const stored = await store(transaction, identity);
  if (stored === undefined) {
    throw new SignInRefusal(
      403,
      "identity_taken",
      "Your account is linked to another user here. Ask an administrator to unlink it there.",
      { details: { issuer, subject, user_id: userId } },
    );
  }
  await recordAudit(transaction, origin, {
    action: "user.link",
    targetKind: "user",
    targetId: userId,
    details: { ...detailsOf(identity, stored), method: "oidc" },
  });
}

interface Stored {
  readonly identity: Identity;
  /** The account of the same issuer that the user was linked to before. */
  readonly replaced: string | undefined;
}

function detailsOf({ issuer, subject }: NewIdentity, { replaced }: Stored) {
  return { issuer, subject, ...(replaced !== undefined && { replaced_subject: replaced }) };
}

/** Returns undefined for an account of another user. Called under the users' lock. */
async function store(
  transaction: Db,
  { issuer, subject, userId }: NewIdentity,
): Promise<Stored | undefined> {
  const isAccount = and(eq(identities.issuer, issuer), eq(identities.subject, subject));
  const [present] = await transaction.select().from(identities).where(isAccount);
  if (present !== undefined) {
    return present.userId === userId ? { identity: present, replaced: undefined } : undefined;
  }
  const isSame = and(eq(identities.issuer, issuer), eq(identities.userId, userId));
  const [gone] = await transaction.delete(identities).where(isSame).returning();
  const [made] = await transaction
    .insert(identities)
    .values({ issuer, subject, userId })
    .returning();
  return made && { identity: made, replaced: gone?.subject };
}
