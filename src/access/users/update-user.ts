import { eq } from "drizzle-orm";
import type { Role } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { sessions, users } from "../../db/tables/users.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { UserAccess } from "../access.ts";
import type { Actor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { confirmActor } from "../confirm-actor.ts";
import { lockUsers } from "./lock-users.ts";
import { readUser } from "./read-user.ts";
import { refuseLastAdministrator } from "./refuse-last-administrator.ts";
import { refuseOverLicense } from "./refuse-over-license.ts";
import type { User } from "./user.ts";

export interface UserChange {
  readonly role?: Role | undefined;
  readonly state?: User["state"] | undefined;
  readonly password?: string | undefined;
}

/**
 * Changes a user. Disabling ends the sessions and makes the keys unusable, a password ends the sessions and has to be
 * changed at the next login, all at once. Rejects with `not_found`; with `invalid_value` when it would leave no
 * administrator or disable who asks for it; with `license_user_limit` when there is no room to enable one more.
 */
export async function updateUser(
  access: UserAccess,
  actor: Actor,
  id: string,
  change: UserChange,
): Promise<User> {
  const { password } = change;
  const passwordHash = password === undefined ? undefined : await access.passwords.hash(password);
  const { user, changed } = await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await lockUsers(transaction);
      await confirmActor(transaction, access, actor);
      const before = await readUser(transaction, id);
      const changed = changedFields(before, change);
      if (changed.length === 0) return { user: before, changed };
      await refuseChange(transaction, access, { actor, before, change });
      // The counter before the user's row: whoever makes a key takes them in this order too.
      if (changesKeys(changed)) await stampKeys(transaction, id);
      await transaction
        .update(users)
        .set({
          role: change.role,
          state: change.state,
          ...(passwordHash !== undefined && { passwordHash, mustChangePassword: true }),
        })
        .where(eq(users.id, id));
      // After the user's row, as a login and a change of the own password do: what a login still under way with the
      // old password or state has opened is then seen here, and later ones see the change.
      if (change.state === "disabled" || passwordHash !== undefined) {
        await transaction.delete(sessions).where(eq(sessions.userId, id));
      }
      await recordAudit(transaction, actor, {
        action: "user.update",
        targetKind: "user",
        targetId: id,
        details: { changed, ...toldOf(change) },
      });
      return { user: await readUser(transaction, id), changed };
    }),
  );
  if (changesKeys(changed)) await access.keys.catchUp();
  return user;
}

/** All but the password. */
function toldOf({ role, state }: UserChange): JsonObject {
  return { ...(role !== undefined && { role }), ...(state !== undefined && { state }) };
}

type Field = keyof UserChange;

function changedFields(before: User, { role, state, password }: UserChange): readonly Field[] {
  return [
    ...(role !== undefined && role !== before.role ? (["role"] as const) : []),
    ...(state !== undefined && state !== before.state ? (["state"] as const) : []),
    ...(password !== undefined ? (["password"] as const) : []),
  ];
}

interface AskedChange {
  readonly actor: Actor;
  readonly before: User;
  readonly change: UserChange;
}

async function refuseChange(
  transaction: Db,
  access: UserAccess,
  { actor, before, change: { role, state } }: AskedChange,
): Promise<void> {
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

async function stampKeys(transaction: Db, ownerId: string): Promise<void> {
  await transaction
    .update(apiKeys)
    .set({ changeSeq: await nextChange(transaction, "api_keys") })
    .where(eq(apiKeys.ownerId, ownerId));
}

/** Each key in memory knows the role and the state of its owner. */
function changesKeys(changed: readonly Field[]): boolean {
  return changed.includes("role") || changed.includes("state");
}
