import type { Role } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { withTransaction } from "../../db/context.ts";
import { users } from "../../db/tables/users.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { UserAccess } from "../access.ts";
import type { Actor } from "../actor.ts";
import { recordAudit } from "../audit/record-audit.ts";
import { confirmActor } from "../confirm-actor.ts";
import { newPassword } from "../sessions/new-password.ts";
import { lockUsers } from "./lock-users.ts";
import { readUser } from "./read-user.ts";
import { refuseOverLicense } from "./refuse-over-license.ts";
import type { User } from "./user.ts";

export interface NewUser {
  readonly username: string;
  /** Undefined: one is made up. */
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
}

export interface CreatedUser {
  readonly user: User;
  /** The one that was made up, to be shown once. */
  readonly password: string | undefined;
}

/**
 * Makes a user, who has to change the password at the first login. Rejects with `license_user_limit` when the license
 * allows no more, and with `invalid_value` when the name is taken.
 */
export async function createUser(
  access: UserAccess,
  actor: Actor,
  { username, password, role = "user" }: NewUser,
): Promise<CreatedUser> {
  const madeUp = password === undefined ? newPassword() : undefined;
  const passwordHash = await access.passwords.hash(password ?? madeUp ?? "");
  const id = `usr_${randomBase62(22)}`;
  const user = await access.database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await lockUsers(transaction);
      await confirmActor(transaction, access, actor);
      await refuseOverLicense(transaction, access);
      const name = username.toLowerCase();
      const row = { id, username: name, role, passwordHash, mustChangePassword: true };
      const made = await transaction
        .insert(users)
        .values(row)
        .onConflictDoNothing({ target: users.username })
        .returning({ id: users.id });
      if (made.length === 0) throw nameTaken();
      await recordAudit(transaction, actor, {
        action: "user.create",
        targetKind: "user",
        targetId: id,
        details: { username: name, role },
      });
      return readUser(transaction, id);
    }),
  );
  return { user, password: madeUp };
}

function nameTaken(): ServiceError {
  return new ServiceError("invalid_value", "This name is taken; choose another.", {
    param: "username",
  });
}
