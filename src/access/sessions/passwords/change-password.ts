import { and, eq, gt, ne } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import { type Db, withTransaction } from "../../../db/context.ts";
import { sessions, users } from "../../../db/tables/users.ts";
import type { UserAccess } from "../../access.ts";
import type { SessionActor } from "../../actor.ts";
import { recordAudit } from "../../audit/record-audit.ts";
import type { LoggedIn } from "../login/logged-in.ts";
import { clearFailures, underBrake } from "../login/login-brake.ts";
import { sessionOver } from "../session-over.ts";
import { newSessionToken } from "../session-token.ts";
import { checkPassword } from "./check-password.ts";

export interface PasswordChange {
  readonly current: string;
  readonly next: string;
}

/**
 * Changes the actor's own password. Every other session of the user ends, and this one continues under a new token.
 * Rejects with `invalid_credentials` when the current password is wrong, which counts as a failed login. Rejects with
 * `session_expired` when the session has ended meanwhile.
 */
export async function changePassword(
  access: UserAccess,
  actor: SessionActor,
  { current, next }: PasswordChange,
): Promise<LoggedIn> {
  if (next === current) {
    throw new ServiceError(
      "invalid_value",
      "The new password equals the current one; choose another.",
      {
        param: "new_password",
      },
    );
  }
  const { username } = actor.caller;
  const renewed = await underBrake(access, username, actor.address, async (attempt) => {
    const { user, isRight } = await checkPassword(access, username, current);
    const earlier = isRight ? user?.passwordHash : undefined;
    const hashes = earlier && { earlier, next: await access.passwords.hash(next) };
    return access.database.ask((db) =>
      withTransaction(db, async (transaction) => {
        const session = hashes
          ? await replacePassword(transaction, access, actor, hashes)
          : undefined;
        if (session === undefined) await recordRefusal(transaction, actor);
        else await clearFailures(transaction, attempt);
        return session;
      }),
    );
  });
  if (renewed !== undefined) return renewed;
  throw new ServiceError("invalid_credentials", "The current password is wrong.");
}

interface PasswordHashes {
  readonly earlier: string;
  readonly next: string;
}

/**
 * Returns undefined when the password has changed since it was checked, so that only one of two concurrent changes
 * takes effect.
 */
async function replacePassword(
  transaction: Db,
  { clock, hashSession, sessionHours }: UserAccess,
  actor: SessionActor,
  hashes: PasswordHashes,
): Promise<LoggedIn | undefined> {
  const { sessionId, ownerId } = actor.caller;
  const [user] = await transaction
    .update(users)
    .set({ passwordHash: hashes.next, mustChangePassword: false })
    .where(
      and(eq(users.id, ownerId), eq(users.state, "active"), eq(users.passwordHash, hashes.earlier)),
    )
    .returning({ id: users.id, username: users.username, role: users.role });
  if (user === undefined) return undefined;
  await transaction
    .delete(sessions)
    .where(and(eq(sessions.userId, ownerId), ne(sessions.id, sessionId)));
  const token = newSessionToken();
  const now = new Date(clock.now());
  const expiresAt = new Date(now.getTime() + sessionHours * 3_600_000);
  const renewed = await transaction
    .update(sessions)
    .set({ tokenHash: hashSession(token), expiresAt })
    .where(and(eq(sessions.id, sessionId), gt(sessions.expiresAt, now)))
    .returning({ id: sessions.id });
  // The session has ended since the request was accepted, so its request is not executed.
  if (renewed.length === 0) throw sessionOver();
  await recordAudit(transaction, actor, {
    action: "user.password_change",
    targetKind: "user",
    targetId: ownerId,
  });
  return { token, expiresAt, mustChangePassword: false, user };
}

async function recordRefusal(transaction: Db, actor: SessionActor): Promise<void> {
  await recordAudit(transaction, actor, {
    action: "user.login_refused",
    targetKind: "user",
    targetId: actor.caller.ownerId,
    details: { reason: "wrong_password" },
  });
}
