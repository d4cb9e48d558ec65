import { and, eq } from "drizzle-orm";
import type { Role } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { sessions, users } from "../../db/tables/users.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { UserAccess } from "../access.ts";
import type { Origin } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { USERNAME } from "../users/user.ts";
import { checkPassword } from "./check-password.ts";
import { endOldestSessions } from "./end-oldest-sessions.ts";
import { clearFailures, type LoginAttempt, underBrake } from "./login-brake.ts";
import { newSessionToken } from "./session-token.ts";

/** A session as the client receives it. */
export interface LoggedIn {
  /** Shown only here. */
  readonly token: string;
  readonly expiresAt: Date;
  readonly mustChangePassword: boolean;
  readonly user: { readonly id: string; readonly username: string; readonly role: Role };
}

export interface GivenCredentials {
  readonly username: string;
  readonly password: string;
}

/**
 * Opens a session; when the user has too many, the oldest one ends. Rejects with the same `invalid_credentials`, at the
 * same cost, for an unknown name, a wrong password, a disabled user and a user without a password. Rejects with
 * `rate_limit_exceeded` after too many of these.
 */
export async function login(
  access: UserAccess,
  { username, password }: GivenCredentials,
  origin: Origin,
): Promise<LoggedIn> {
  const name = USERNAME.test(username) ? username.toLowerCase() : undefined;
  const session = await underBrake(access, name, origin.address, async (attempt) => {
    const { user, isRight } = await checkPassword(access, name, password);
    return access.database.ask((db) =>
      withTransaction(db, async (transaction) => {
        const opening = isRight && user !== undefined ? { user, attempt, origin } : undefined;
        const opened = opening && (await openSession(transaction, access, opening));
        if (opened === undefined) await recordRefusal(transaction, origin, user);
        return opened;
      }),
    );
  });
  if (session !== undefined) return session;
  throw new ServiceError("invalid_credentials", "The name or the password is wrong.");
}

type UserRow = typeof users.$inferSelect;

interface Opening {
  readonly user: UserRow;
  readonly attempt: LoginAttempt;
  readonly origin: Origin;
}

/** Returns undefined when the user is disabled, or the password was changed during the check. */
async function openSession(
  transaction: Db,
  { clock, hashSession, sessionHours }: UserAccess,
  { user, attempt, origin }: Opening,
): Promise<LoggedIn | undefined> {
  const createdAt = new Date(clock.now());
  const expiresAt = new Date(createdAt.getTime() + sessionHours * 3_600_000);
  const [found] = await transaction
    .update(users)
    .set({ lastLoginAt: createdAt })
    .where(
      and(
        eq(users.id, user.id),
        eq(users.state, "active"),
        eq(users.passwordHash, user.passwordHash ?? ""),
      ),
    )
    .returning();
  if (found === undefined) return undefined;
  const { id, username, role, mustChangePassword } = found;
  await endOldestSessions(transaction, id);
  const token = newSessionToken();
  const sessionId = `sid_${randomBase62(22)}`;
  await transaction.insert(sessions).values({
    id: sessionId,
    tokenHash: hashSession(token),
    userId: id,
    createdAt,
    expiresAt,
    address: origin.address,
  });
  await clearFailures(transaction, attempt);
  const caller = {
    kind: "session",
    sessionId,
    ownerId: id,
    username,
    role,
    mustChangePassword,
    passthrough: false,
  } as const;
  await recordAudit(
    transaction,
    { ...origin, caller },
    { action: "user.login", targetKind: "user", targetId: id },
  );
  return { token, expiresAt, mustChangePassword, user: { id, username, role } };
}

/** The given name is not stored, because users easily type a password into the wrong field. */
async function recordRefusal(
  transaction: Db,
  origin: Origin,
  user: UserRow | undefined,
): Promise<void> {
  await recordAudit(transaction, origin, {
    action: "user.login_refused",
    targetKind: "user",
    targetId: user?.id ?? null,
    details: { reason: reasonOf(user) },
  });
}

function reasonOf(user: UserRow | undefined): string {
  if (user === undefined) return "unknown_user";
  if (user.state === "disabled") return "disabled";
  return user.passwordHash === null ? "no_password" : "wrong_password";
}
