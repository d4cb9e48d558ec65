import { and, eq, gt } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { repeatConflict } from "../../db/repeat-conflict.ts";
import { sessions, users } from "../../db/tables/users.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { UserAccess } from "../access.ts";
import type { Origin } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import type { LoggedIn } from "../sessions/login/logged-in.ts";
import { openSession } from "../sessions/open-session.ts";
import { lockUsers, refuseOverLicense } from "../users/user-rules.ts";
import { disabled, findBound, followRole, shutOut } from "./follow-provider.ts";
import { bindIdentity } from "./identities.ts";
import type { Person } from "./read-person.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";

export interface SignIn {
  readonly origin: Origin;
  /** OIDC_CREATE_USERS. */
  readonly createsUsers: boolean;
  /** Whether a refusal is recorded for which nobody has begun a sign-in. */
  readonly isRecorded: (address: string | null) => boolean;
  /** The session that asked for its user to be bound to this account. */
  readonly bindTo?:
    | {
        readonly sessionId: string;
        readonly userId: string;
        /** The browser's: a browser that somebody else's link was put into has another one, or none. */
        readonly token: string | undefined;
      }
    | undefined;
}

/**
 * Opens a session for a person whom the provider has identified. A user is found by issuer and subject, never by name or
 * mail. The role follows the provider. Everything happens in one transaction, so that a refusal leaves nothing. Rejects
 * with a SignInRefusal.
 */
async function signIn(access: UserAccess, person: Person, options: SignIn): Promise<LoggedIn> {
  const { clock, database } = access;
  const session = await repeatConflict(() =>
    database.ask((db) =>
      withTransaction(db, async (transaction) => {
        await lockUsers(transaction);
        const id =
          options.bindTo === undefined
            ? ((await findBound(transaction, person)) ??
              (await createBound(transaction, access, { person, options })))
            : await bindAsked(transaction, access, { person, options });
        await followRole(transaction, id, { person, origin: options.origin });
        const createdAt = new Date(clock.now());
        const [user] = await transaction
          .update(users)
          .set({ lastLoginAt: createdAt })
          .where(and(eq(users.id, id), eq(users.state, "active")))
          .returning();
        if (user === undefined) throw disabled(id);
        return openSession(transaction, access, {
          user,
          openedBy: "oidc",
          origin: options.origin,
          createdAt,
        });
      }),
    ),
  ).catch(toRefusal);
  // The role may have changed, which keys and service tokens follow.
  await access.keys.catchUp();
  return session;
}

/**
 * Identifies a person and signs in. A refusal is recorded, unless the provider could not be reached, or the address has
 * sent many that need no sign-in. It does not count as a failed login, because any page can send a browser here to be
 * refused. Rejects with a SignInRefusal.
 *
 * @param identify asks the provider.
 */
export async function identifyAndSignIn(
  access: UserAccess,
  options: SignIn,
  identify: () => Promise<Person>,
): Promise<LoggedIn> {
  const person = await identify().catch((thrown: unknown) => refuse(access, options, thrown));
  // In turn, so that many sign-ins at once leave database connections to others.
  return access.inLoginTurn(async () => {
    if (!person.isAllowed) return refuseUnallowed(access, options.origin, person);
    return signIn(access, person, options).catch((thrown: unknown) =>
      refuse(access, options, thrown),
    );
  });
}

async function refuse({ database }: UserAccess, options: SignIn, thrown: unknown): Promise<never> {
  if (thrown instanceof SignInRefusal && isToRecord(options, thrown)) {
    await database.ask((db) => recordRefusal(db, options.origin, thrown));
  }
  throw thrown;
}

function isToRecord({ isRecorded, origin }: SignIn, { reason }: SignInRefusal): boolean {
  if (reason === "wrong_state" || reason === "wrong_return_to") return isRecorded(origin.address);
  return reason !== "provider_unreachable";
}

async function refuseUnallowed(
  { database, keys }: UserAccess,
  origin: Origin,
  person: Person,
): Promise<never> {
  const refusal = await repeatConflict(() =>
    database.ask((db) =>
      withTransaction(db, async (transaction) => {
        const made = await shutOut(transaction, origin, person);
        await recordRefusal(transaction, origin, made);
        return made;
      }),
    ),
  );
  await keys.catchUp();
  throw refusal;
}

async function recordRefusal(
  transaction: Db,
  origin: Origin,
  { reason, details }: SignInRefusal,
): Promise<void> {
  const { user_id: userId, ...rest } = details;
  await recordAudit(transaction, origin, {
    action: "user.login_refused",
    targetKind: "user",
    targetId: typeof userId === "string" ? userId : null,
    details: { method: "oidc", reason, ...rest },
  });
}

interface Asked {
  readonly person: Person;
  readonly options: SignIn;
}

async function createBound(
  transaction: Db,
  access: UserAccess,
  { person, options: { createsUsers, origin } }: Asked,
): Promise<string> {
  const { issuer, subject, username, role = "user" } = person;
  const details = { issuer, subject, username };
  if (!createsUsers) {
    throw new SignInRefusal(
      403,
      "unknown_user",
      "No user here is linked to your account. Ask an administrator to link yours; the audit log names the account.",
      { details },
    );
  }
  const [taken] = await transaction
    .select({ id: users.id })
    .from(users)
    .where(eq(users.username, username));
  if (taken !== undefined) {
    throw new SignInRefusal(
      403,
      "name_taken",
      `There is a user ${username} already, who is not linked to your account. If that is you, log in with the password and ` +
        "link the account, or ask an administrator to link it.",
      { details },
    );
  }
  await refuseOverLicense(transaction, access);
  const id = `usr_${randomBase62(22)}`;
  await transaction.insert(users).values({ id, username, role });
  await recordAudit(transaction, origin, {
    action: "user.create",
    targetKind: "user",
    targetId: id,
    details: { username, role, method: "oidc" },
  });
  await bindIdentity(transaction, origin, { issuer, subject, userId: id });
  return id;
}

/** Only the browser of the session that asked may link. The session may have ended meanwhile. */
async function bindAsked(
  transaction: Db,
  { clock, hashSession }: UserAccess,
  { person, options: { bindTo, origin } }: Asked,
): Promise<string> {
  const { issuer, subject } = person;
  const [found] = await transaction
    .select({ userId: sessions.userId })
    .from(sessions)
    .where(
      and(
        eq(sessions.id, bindTo?.sessionId ?? ""),
        eq(sessions.tokenHash, hashSession(bindTo?.token ?? "")),
        eq(sessions.userId, bindTo?.userId ?? ""),
        gt(sessions.expiresAt, new Date(clock.now())),
      ),
    );
  if (found === undefined) {
    throw new SignInRefusal(
      403,
      "session_over",
      "The session that asked to link your account is over, or is not that of this browser. Log in here and link it again.",
    );
  }
  await bindIdentity(transaction, origin, { issuer, subject, userId: found.userId });
  return found.userId;
}

function toRefusal(thrown: unknown): never {
  if (!(thrown instanceof ServiceError) || thrown.code !== "license_user_limit") throw thrown;
  throw new SignInRefusal(403, "license_user_limit", `${thrown.message} (license_user_limit)`);
}
