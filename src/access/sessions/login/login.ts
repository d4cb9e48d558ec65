import { and, eq } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import { type Db, withTransaction } from "../../../db/context.ts";
import { users } from "../../../db/tables/users.ts";
import type { UserAccess } from "../../access.ts";
import type { Origin } from "../../actor.ts";
import { recordAudit } from "../../audit/record-audit.ts";
import { USERNAME } from "../../users/user.ts";
import { openSession } from "../open-session.ts";
import { checkPassword } from "../passwords/check-password.ts";
import type { LoggedIn } from "./logged-in.ts";
import { clearFailures, type LoginAttempt, underBrake } from "./login-brake.ts";

/** With OIDC_ONLY, how long a password works that the command line has set. */
const RESET_VALID_MS = 3_600_000;

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
        const opened = opening && (await openByPassword(transaction, access, opening));
        if (opened === undefined) await recordRefusal(transaction, access, { origin, user });
        return opened;
      }),
    );
  });
  if (session !== undefined) return session;
  // The same for everyone, so that it does not reveal whether the password is right.
  const off = ", or passwords are switched off here: sign in at /api/auth/oidc/login";
  throw new ServiceError(
    "invalid_credentials",
    `The name or the password is wrong${access.oidcOnly ? off : ""}.`,
  );
}

/** With OIDC_ONLY a password is valid only for an administrator, for a while after the command line set it. */
function isPasswordValid({ oidcOnly, clock }: UserAccess, user: UserRow): boolean {
  if (!oidcOnly) return true;
  const resetAt = user.passwordResetAt?.getTime() ?? Number.NEGATIVE_INFINITY;
  return user.role === "admin" && clock.now() - resetAt < RESET_VALID_MS;
}

type UserRow = typeof users.$inferSelect;

interface Opening {
  readonly user: UserRow;
  readonly attempt: LoginAttempt;
  readonly origin: Origin;
}

/**
 * Returns undefined when the user is disabled or may not use a password, or the password was changed during the check.
 */
async function openByPassword(
  transaction: Db,
  access: UserAccess,
  { user, attempt, origin }: Opening,
): Promise<LoggedIn | undefined> {
  const createdAt = new Date(access.clock.now());
  if (!isPasswordValid(access, user)) return undefined;
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
  await clearFailures(transaction, attempt);
  return openSession(transaction, access, {
    user: found,
    openedBy: "password",
    origin,
    createdAt,
  });
}

/** The given name is not stored, because users easily type a password into the wrong field. */
async function recordRefusal(
  transaction: Db,
  access: UserAccess,
  { origin, user }: { readonly origin: Origin; readonly user: UserRow | undefined },
): Promise<void> {
  await recordAudit(transaction, origin, {
    action: "user.login_refused",
    targetKind: "user",
    targetId: user?.id ?? null,
    details: { reason: reasonOf(access, user) },
  });
}

function reasonOf(access: UserAccess, user: UserRow | undefined): string {
  if (user === undefined) return "unknown_user";
  if (user.state === "disabled") return "disabled";
  if (!isPasswordValid(access, user)) return "password_off";
  return user.passwordHash === null ? "no_password" : "wrong_password";
}
