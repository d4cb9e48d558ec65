import { count, eq } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { users } from "../../db/tables/users.ts";
import type { Access } from "../access.ts";

/** Throws `license_user_limit` when there is no room for one more active user. The caller holds the users' lock. */
export async function refuseOverLicense(
  transaction: Db,
  { maxUsers }: Pick<Access, "maxUsers">,
): Promise<void> {
  const allowed = maxUsers();
  const [active] = await transaction
    .select({ total: count() })
    .from(users)
    .where(eq(users.state, "active"));
  if ((active?.total ?? 0) < allowed) return;
  throw new ServiceError(
    "license_user_limit",
    `The license allows ${allowed} active users, and there are as many. Disable one, or upload a larger license.`,
  );
}
