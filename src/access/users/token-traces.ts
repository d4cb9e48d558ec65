import { and, desc, eq, inArray, min, or, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { auditLog } from "../../db/tables/audit-log.ts";

/** The audit entries at which a key's secret is shown. */
export const SHOWS_SECRET: SQL = inArray(auditLog.action, ["api_key.create", "api_key.rotate"]);

/** What the holders of service tokens got of a user, whoever they were. */
export interface TokenTraces {
  /** The id of the first audit entry at which one got a secret of the user. Without it, nothing is in doubt. */
  readonly since: number;
  /** The id of the first one at which one set the password; undefined when none did. */
  readonly passwordSince: number | undefined;
  /** No administrator has set another password since. */
  readonly isPasswordOfToken: boolean;
}

/**
 * Reads from the audit log whether a service token ever made or rotated a key of the user, or set the password. Deleted
 * keys count, because they may have made others. Returns undefined when none did. The ids of the log give the order: a
 * holder gets a secret when its entry is committed, so whatever is done with it has a higher id.
 */
export async function readTokenTraces(
  transaction: Db,
  userId: string,
): Promise<TokenTraces | undefined> {
  const passwords = await readPasswords(transaction, userId);
  const ofToken = passwords.filter(({ via }) => via === "service_token").map(({ id }) => id);
  const passwordSince = ofToken.length === 0 ? undefined : Math.min(...ofToken);
  const keySince = await firstKeyOfToken(transaction, userId);
  const since = Math.min(passwordSince ?? Infinity, keySince ?? Infinity);
  if (since === Infinity) return undefined;
  return { since, passwordSince, isPasswordOfToken: passwords[0]?.via === "service_token" };
}

/**
 * The entries at which somebody else than the user set the password, the last one first. Whoever logs in with a token's
 * password can change it, so a change of one's own proves nothing.
 */
function readPasswords(transaction: Db, userId: string) {
  return transaction
    .select({ id: auditLog.id, via: auditLog.via })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, userId),
        sql`(${auditLog.action} = 'user.create' or (${auditLog.action} = 'user.update' and ${auditLog.details} -> 'changed' ? 'password'))`,
      ),
    )
    .orderBy(desc(auditLog.id));
}

async function firstKeyOfToken(transaction: Db, userId: string): Promise<number | null> {
  const ofUser = transaction
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(eq(apiKeys.ownerId, userId));
  // The entries of deleted keys, whose rows name no owner any more.
  const onceOfUser = transaction
    .select({ id: auditLog.targetId })
    .from(auditLog)
    .where(
      and(
        inArray(auditLog.action, ["api_key.create", "api_key.delete"]),
        sql`${auditLog.details} ->> 'owner_id' = ${userId}`,
      ),
    );
  const isOfUser = or(inArray(auditLog.targetId, ofUser), inArray(auditLog.targetId, onceOfUser));
  const [found] = await transaction
    .select({ id: min(auditLog.id) })
    .from(auditLog)
    .where(and(eq(auditLog.via, "service_token"), SHOWS_SECRET, isOfUser));
  return found?.id ?? null;
}
