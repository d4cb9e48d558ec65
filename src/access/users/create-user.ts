import type { Role } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { users } from "../../db/tables/users.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { UserAccess } from "../access.ts";
import type { AnyActor } from "../actor.ts";
import { auditDetails } from "../audit/record-audit.ts";
import { change } from "../change.ts";
import { newPassword } from "../sessions/passwords/new-password.ts";
import { readUser, type User } from "./user.ts";
import { lockUsers, refuseAdministratorByToken, refuseOverLicense } from "./user-rules.ts";

export interface NewUser {
  readonly username: string;
  /** Undefined when a password must be generated. */
  readonly password?: string | undefined;
  readonly role?: Role | undefined;
  /** Absent and null are unlimited. */
  readonly monthlyTokenLimit?: number | null | undefined;
  readonly rpmLimit?: number | null | undefined;
}

export interface CreatedUser {
  readonly user: User;
  /** The generated password, which is shown once. */
  readonly password: string | undefined;
}

/**
 * Creates a user, who must change the password at the first login. Rejects with `license_user_limit` when the license
 * allows no further user, and with `invalid_value` when the name is taken.
 */
export async function createUser(
  access: UserAccess,
  actor: AnyActor,
  { username, password, role = "user", monthlyTokenLimit = null, rpmLimit = null }: NewUser,
): Promise<CreatedUser> {
  refuseAdministratorByToken(actor, role);
  const madeUp = password === undefined ? newPassword() : undefined;
  const passwordHash = await access.passwords.hash(password ?? madeUp ?? "");
  const id = `usr_${randomBase62(22)}`;
  const frame = {
    action: "user.create",
    targetKind: "user",
    targetId: id,
    lock: lockUsers,
  } as const;
  const user = await change(access, actor, frame, async (transaction) => {
    await refuseOverLicense(transaction, access);
    const name = username.toLowerCase();
    const limits = { monthlyTokenLimit, rpmLimit };
    const row = { id, username: name, role, passwordHash, mustChangePassword: true, ...limits };
    const made = await transaction
      .insert(users)
      .values(row)
      .onConflictDoNothing({ target: users.username })
      .returning({ id: users.id });
    if (made.length === 0) throw nameTaken();
    const given = Object.entries(limits).filter(([, limit]) => limit !== null);
    const details = { username: name, role, ...auditDetails(Object.fromEntries(given)) };
    return { result: await readUser(transaction, id), details };
  });
  return { user, password: madeUp };
}

function nameTaken(): ServiceError {
  return new ServiceError("invalid_value", "This name is taken; choose another.", {
    param: "username",
  });
}
