import { and, eq } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { identities, sessions, users } from "../../db/tables/users.ts";
import type { Origin } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { clearForPromotion } from "../users/before-promotion.ts";
import { readUser, type User } from "../users/user.ts";
import { lockUsers, markCredentials, refuseLastAdministrator } from "../users/user-rules.ts";
import type { Person } from "./read-person.ts";
import { SignInRefusal } from "./sign-in-refusal.ts";

/** Returns the user who is linked to the person's account. */
export async function findBound(
  transaction: Db,
  { issuer, subject }: Pick<Person, "issuer" | "subject">,
): Promise<string | undefined> {
  const [found] = await transaction
    .select({ userId: identities.userId })
    .from(identities)
    .where(and(eq(identities.issuer, issuer), eq(identities.subject, subject)));
  return found?.userId;
}

/** Gives a user the role that the provider says, if it says one. Called under the users' lock. */
export async function followRole(
  transaction: Db,
  id: string,
  { person, origin }: { readonly person: Person; readonly origin: Origin },
): Promise<void> {
  const { role } = person;
  const user = await readUser(transaction, id);
  if (user.state === "disabled") throw disabled(id);
  if (role === undefined || role === user.role) return;
  const changeSeq = await nextChange(transaction, "api_keys");
  if (role === "user") await refuseLast(transaction, user);
  await markCredentials(transaction, id, changeSeq);
  await transaction.update(users).set({ role }).where(eq(users.id, id));
  const cleared =
    role === "admin" ? await clearForPromotion(transaction, id, { signedInBy: person }) : {};
  await recordAudit(transaction, origin, {
    action: "user.update",
    targetKind: "user",
    targetId: id,
    details: { changed: ["role"], role, method: "oidc", ...cleared },
  });
}

/**
 * Takes from the user of a person whom the provider no longer allows what a sign-in gave: the sessions, and the role of
 * an administrator, so that keys and service tokens no longer act as one. The last administrator keeps the role. Returns
 * the refusal, for the log to name the user.
 */
export async function shutOut(
  transaction: Db,
  origin: Origin,
  { issuer, subject }: Person,
): Promise<SignInRefusal> {
  await lockUsers(transaction);
  const id = await findBound(transaction, { issuer, subject });
  if (id === undefined) return notAllowed({ issuer, subject });
  const user = await readUser(transaction, id);
  const isDemoted = user.role === "admin" && !(await isLast(transaction, user));
  if (isDemoted) {
    const changeSeq = await nextChange(transaction, "api_keys");
    await markCredentials(transaction, id, changeSeq);
    await transaction.update(users).set({ role: "user" }).where(eq(users.id, id));
    await recordAudit(transaction, origin, {
      action: "user.update",
      targetKind: "user",
      targetId: id,
      details: { changed: ["role"], role: "user", method: "oidc" },
    });
  }
  // After the user's row, in the order of a login.
  const ended = await transaction
    .delete(sessions)
    .where(eq(sessions.userId, id))
    .returning({ id: sessions.id });
  const role = isDemoted ? "user" : user.role;
  return notAllowed({ issuer, subject, user_id: id, role, ended_sessions: ended.length });
}

export function disabled(userId: string): SignInRefusal {
  return new SignInRefusal(
    403,
    "disabled",
    "Your user is disabled here. Ask an administrator to enable it.",
    { details: { user_id: userId } },
  );
}

async function isLast(transaction: Db, user: User): Promise<boolean> {
  return refuseLastAdministrator(transaction, user).then(
    () => false,
    (thrown: unknown) => {
      if (thrown instanceof ServiceError) return true;
      throw thrown;
    },
  );
}

async function refuseLast(transaction: Db, user: User): Promise<void> {
  if (!(await isLast(transaction, user))) return;
  throw new SignInRefusal(
    403,
    "last_administrator",
    "You are the last administrator here, and the provider no longer says that you are one. Add you to OIDC_ADMIN_VALUES, " +
      "or make another user an administrator first.",
    { details: { user_id: user.id } },
  );
}

function notAllowed(details: SignInRefusal["details"]): SignInRefusal {
  return new SignInRefusal(
    403,
    "not_allowed",
    "You may not sign in here. An administrator lists who may in OIDC_ALLOWED_VALUES, by the claim of OIDC_ADMIN_CLAIM.",
    { details },
  );
}
