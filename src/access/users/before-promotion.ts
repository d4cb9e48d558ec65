import { and, eq, inArray, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import { sessions, users } from "../../db/tables/users.ts";
import type { JsonObject } from "../../lib/json/json.ts";

/**
 * Takes from a user who becomes an administrator what the holder of a service token may have: keys whose secret a token
 * got, a password that a token set and no administrator replaced, and with it the sessions. Otherwise that holder would
 * be an administrator too. Called in the transaction of the promotion, after the user's row and keys are marked. Returns
 * what the audit log has of it.
 *
 * @param newPassword is the hash of a password that is set with the promotion, and stays.
 */
export async function clearForPromotion(
  transaction: Db,
  userId: string,
  newPassword?: string,
): Promise<JsonObject> {
  const deactivated = await deactivateKeys(transaction, userId);
  const keys = deactivated.length > 0 ? { deactivated_keys: [...deactivated] } : {};
  if (newPassword !== undefined || !(await isPasswordOfToken(transaction, userId))) return keys;
  await transaction.update(users).set({ passwordHash: null }).where(eq(users.id, userId));
  const ended = await transaction
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ id: sessions.id });
  return { ...keys, password: "void", ended_sessions: ended.length };
}

/** The audit log knows to whom a secret was shown. */
async function deactivateKeys(transaction: Db, userId: string): Promise<readonly string[]> {
  const shown = transaction
    .select({ id: auditLog.targetId })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, apiKeys.id),
        eq(auditLog.via, "service_token"),
        inArray(auditLog.action, ["api_key.create", "api_key.rotate"]),
      ),
    );
  const rows = await transaction
    .update(apiKeys)
    .set({ state: "inactive" })
    .where(and(eq(apiKeys.ownerId, userId), eq(apiKeys.state, "active"), sql`exists ${shown}`))
    .returning({ id: apiKeys.id });
  return rows.map(({ id }) => id);
}

/**
 * Whether a service token was the last to set the password, aside from the user: whoever logs in with the token's
 * password can change it as well.
 */
async function isPasswordOfToken(transaction: Db, userId: string): Promise<boolean> {
  const [last] = await transaction
    .select({ via: auditLog.via })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, userId),
        sql`(${auditLog.action} = 'user.create' or (${auditLog.action} = 'user.update' and ${auditLog.details} -> 'changed' ? 'password'))`,
      ),
    )
    .orderBy(sql`${auditLog.at} desc, ${auditLog.id} desc`)
    .limit(1);
  return last?.via === "service_token";
}
