import { and, desc, eq } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { auditLog } from "../../../db/tables/audit-log.ts";
import { users } from "../../../db/tables/users.ts";
import { clientNetwork } from "../../../lib/egress/ip-address.ts";

/** The maximum number of past logins that are searched. */
const LOGINS_MAX = 1_000;

/**
 * Returns whether a user with this name has recently logged in from this network. Failed logins from elsewhere must not
 * lock out such a user, so they are counted separately.
 *
 * @param network is a result of `clientNetwork`.
 */
export async function hasLoggedInFrom(
  db: Db,
  { username, network }: { readonly username: string; readonly network: string },
): Promise<boolean> {
  const logins = db
    .select({ address: auditLog.address })
    .from(auditLog)
    .innerJoin(users, eq(users.id, auditLog.targetId))
    .where(and(eq(users.username, username), eq(auditLog.action, "user.login")))
    .orderBy(desc(auditLog.at), desc(auditLog.id))
    .limit(LOGINS_MAX)
    .as("logins");
  const rows = await db.selectDistinct({ address: logins.address }).from(logins);
  return rows.some(({ address }) => address !== null && clientNetwork(address) === network);
}
