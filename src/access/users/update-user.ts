import { eq } from "drizzle-orm";
import type { Role } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { sessions, users } from "../../db/tables/users.ts";
import type { UserAccess } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { type ChangeFrame, change as runChange } from "../change.ts";
import { clearForPromotion } from "./before-promotion.ts";
import { readUser, type User } from "./user.ts";
import {
  lockUsers,
  markCredentials,
  refuseAdministratorByToken,
  refuseLastAdministrator,
  refuseOverLicense,
  refusePasswordByToken,
} from "./user-rules.ts";

export interface UserChange {
  readonly role?: Role | undefined;
  readonly state?: User["state"] | undefined;
  readonly password?: string | undefined;
  /** Null is unlimited. */
  readonly monthlyTokenLimit?: number | null | undefined;
  readonly rpmLimit?: number | null | undefined;
}

/** The fields that keys in memory follow. */
const KEY_FIELDS = ["role", "state", "monthlyTokenLimit", "rpmLimit"] as const;

/**
 * Changes a user, with immediate effect. Disabling ends the sessions and makes the keys unusable. A new password ends
 * the sessions and must be changed at the next login. Rejects with `not_found`. Rejects with `invalid_value` when the
 * change would leave no administrator or disable the actor. Rejects with `license_user_limit` when there is no room to
 * enable one more user.
 */
export async function updateUser(
  access: UserAccess,
  actor: AnyActor,
  id: string,
  change: UserChange,
): Promise<User> {
  const { password } = change;
  const passwordHash = password === undefined ? undefined : await access.passwords.hash(password);
  // Each key in memory has the role, the state and the limits of its owner.
  const changesKeys = KEY_FIELDS.some((field) => change[field] !== undefined);
  const frame: ChangeFrame = {
    action: "user.update",
    targetKind: "user",
    targetId: id,
    lock: lockUsers,
    ...(changesKeys && { counter: { name: "api_keys", catchUp: access.keys.catchUp } }),
  };
  return runChange(access, actor, frame, async (transaction, changeSeq) => {
    const before = await readUser(transaction, id);
    const changed = changedFields(before, change);
    if (changed.length === 0) return { result: before, details: null };
    await refuseChange(transaction, access, { actor, before, change });
    if (changesKeys) {
      await markCredentials(transaction, id, changeSeq);
    }
    await transaction
      .update(users)
      .set({
        role: change.role,
        state: change.state,
        monthlyTokenLimit: change.monthlyTokenLimit,
        rpmLimit: change.rpmLimit,
        ...(passwordHash !== undefined && { passwordHash, mustChangePassword: true }),
      })
      .where(eq(users.id, id));
    // The sessions follow the user's row, in the same order as in a login and in a change of one's own password. So
    // sessions that a concurrent login opened with the old password or state are seen here, and later logins see the
    // change.
    if (change.state === "disabled" || passwordHash !== undefined) {
      await transaction.delete(sessions).where(eq(sessions.userId, id));
    }
    const isPromoted = change.role === "admin" && before.role !== "admin";
    const setsPassword = passwordHash !== undefined;
    const cleared = isPromoted ? await clearForPromotion(transaction, id, { setsPassword }) : {};
    const { password: _, ...fields } = change;
    const details = { changed, ...auditDetails(fields), ...cleared };
    return { result: await readUser(transaction, id), details };
  });
}

type Field = keyof UserChange;

function changedFields(before: User, change: UserChange): readonly Field[] {
  const changed: Field[] = KEY_FIELDS.filter(
    (field) => change[field] !== undefined && change[field] !== before[field],
  );
  return change.password === undefined ? changed : [...changed, "password"];
}

interface AskedChange {
  readonly actor: AnyActor;
  readonly before: User;
  readonly change: UserChange;
}

async function refuseChange(
  transaction: Db,
  access: UserAccess,
  { actor, before, change: { role, state, password } }: AskedChange,
): Promise<void> {
  refuseAdministratorByToken(actor, before.role === "admin" ? before.role : (role ?? before.role));
  if (password !== undefined) await refusePasswordByToken(transaction, actor, before.id);
  if (state === "disabled" && before.id === actor.caller.ownerId) {
    throw new ServiceError(
      "invalid_value",
      "You cannot disable yourself; ask another administrator.",
      { param: "state" },
    );
  }
  if (state === "disabled") await refuseLastAdministrator(transaction, before, "state");
  if (role === "user") await refuseLastAdministrator(transaction, before, "role");
  if (state === "active" && before.state === "disabled") {
    await refuseOverLicense(transaction, access);
  }
}
