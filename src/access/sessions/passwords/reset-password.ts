import { and, asc, eq, like, or } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import { type Db, withTransaction } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { escapeLike } from "../../../db/escape-like.ts";
import { identities, loginFailures, sessions, users } from "../../../db/tables/users.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import { recordAudit } from "../../audit/record-audit.ts";
import { hashPassword } from "./hash-password.ts";
import { newPassword } from "./new-password.ts";

/** The number of administrators that the error for an unknown user names. */
const NAMED_MAX = 10;

export interface ResetPassword {
  readonly username: string;
  /** Shown only here. */
  readonly password: string;
  readonly role: "admin" | "user";
  /** A disabled user cannot log in, whatever the password. */
  readonly isDisabled: boolean;
  readonly endedSessions: number;
  /** Accounts of a provider that the user still signs in with, whatever the password. */
  readonly linkedAccounts: number;
}

export interface ResetOptions {
  readonly database: Pick<Database, "db">;
  readonly clock: Clock;
}

/**
 * Gives a user a new password, which must be changed at the next login. Ends the user's sessions and forgets the failed
 * logins of the account. Only for whoever may run commands on the server: no rights are checked. Rejects with
 * `not_found`.
 */
export async function resetPassword(
  { database, clock }: ResetOptions,
  username: string,
): Promise<ResetPassword> {
  const name = username.toLowerCase();
  const password = newPassword();
  const passwordHash = await hashPassword(password);
  return withTransaction(database.db, async (transaction) => {
    // The row before the sessions, as in a login, so that no login with the old password outlives this.
    const [user] = await transaction
      .update(users)
      .set({
        passwordHash,
        mustChangePassword: true,
        passwordResetAt: new Date(clock.now()),
      })
      .where(eq(users.username, name))
      .returning({ id: users.id, role: users.role, state: users.state });
    if (user === undefined) throw await unknownUser(transaction, username);
    const ended = await transaction
      .delete(sessions)
      .where(eq(sessions.userId, user.id))
      .returning({ id: sessions.id });
    await forgetFailures(transaction, name);
    await recordAudit(transaction, "command_line", {
      action: "user.update",
      targetKind: "user",
      targetId: user.id,
      details: { changed: ["password"], ended_sessions: ended.length },
    });
    return {
      ...{ username: name, password, role: user.role },
      isDisabled: user.state === "disabled",
      endedSessions: ended.length,
      linkedAccounts: await transaction.$count(identities, eq(identities.userId, user.id)),
    };
  });
}

/** The failures of the account, wherever they came from. Those of an address may be of other accounts, and stay. */
async function forgetFailures(transaction: Db, name: string): Promise<void> {
  const { subject } = loginFailures;
  const isOfAccount = or(
    eq(subject, `user:${name}`),
    like(subject, `user:${escapeLike(name)} from %`),
  );
  await transaction.delete(loginFailures).where(isOfAccount);
}

async function unknownUser(transaction: Db, username: string): Promise<ServiceError> {
  const administrators = await transaction
    .select({ username: users.username })
    .from(users)
    .where(and(eq(users.role, "admin"), eq(users.state, "active")))
    .orderBy(asc(users.createdAt))
    .limit(NAMED_MAX);
  const names = administrators.map((user) => user.username).join(", ");
  return new ServiceError(
    "not_found",
    `There is no user ${JSON.stringify(username)}. Active administrators: ${names || "none"}.`,
  );
}
