import { and, eq, ne } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { users } from "../../db/tables/users.ts";
import type { User } from "./user.ts";

/**
 * Throws `invalid_value` when nobody could administer any more without this user. The caller holds the users' lock.
 *
 * @param param the field that asks for it.
 */
export async function refuseLastAdministrator(
  transaction: Db,
  user: User,
  param?: string,
): Promise<void> {
  if (user.role !== "admin" || user.state !== "active") return;
  const [other] = await transaction
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.role, "admin"), eq(users.state, "active"), ne(users.id, user.id)))
    .limit(1);
  if (other !== undefined) return;
  throw new ServiceError(
    "invalid_value",
    "This is the last active administrator; make another user an administrator first.",
    { param },
  );
}
