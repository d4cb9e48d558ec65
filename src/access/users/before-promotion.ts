import { and, eq, gt, inArray, not, or, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { auditLog } from "../../db/tables/audit-log.ts";
import { identities, sessions, users } from "../../db/tables/users.ts";
import { workflows } from "../../db/tables/workflows.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { readTokenTraces, SHOWS_SECRET, type TokenTraces } from "./token-traces.ts";

export interface Promotion {
  /** A password is set with the promotion, and stays. */
  readonly setsPassword?: boolean;
  /** The account that is just signing in, which stays linked. */
  readonly signedInBy?: { readonly issuer: string; readonly subject: string } | undefined;
}

/**
 * Takes from a user who becomes an administrator what the holder of a service token may have: keys whose secret a token
 * got, a password that a token set and no administrator replaced, and whatever was made since with the user's own
 * rights: further keys, workflows, linked accounts and sessions. Otherwise that holder would be an administrator too.
 * Called in the transaction of the promotion, after the user's row and keys are marked. Returns what the audit log has
 * of it.
 */
export async function clearForPromotion(
  transaction: Db,
  userId: string,
  promotion: Promotion,
): Promise<JsonObject> {
  const traces = await readTokenTraces(transaction, userId);
  if (traces === undefined) return {};
  // A change by the user's credentials holds a share of this row until it is committed. So each is either complete here,
  // or refused later because the role is another one.
  await transaction.select({ id: users.id }).from(users).where(eq(users.id, userId)).for("update");
  const keys = await deactivateKeys(transaction, userId, traces);
  const saved = await disableWorkflows(transaction, userId, traces);
  return {
    ...(keys.length > 0 && { deactivated_keys: [...keys] }),
    ...(saved.length > 0 && { disabled_workflows: [...saved] }),
    ...(await clearLogins(transaction, userId, { traces, promotion })),
  };
}

/** The audit log knows to whom a secret was shown. Keys that another user made stay. */
async function deactivateKeys(
  transaction: Db,
  userId: string,
  { since }: TokenTraces,
): Promise<readonly string[]> {
  const shown = transaction
    .select({ id: auditLog.targetId })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, apiKeys.id),
        SHOWS_SECRET,
        or(
          eq(auditLog.via, "service_token"),
          and(eq(auditLog.actorId, userId), gt(auditLog.id, since)),
        ),
      ),
    );
  const rows = await transaction
    .update(apiKeys)
    .set({ state: "inactive" })
    .where(and(eq(apiKeys.ownerId, userId), eq(apiKeys.state, "active"), sql`exists ${shown}`))
    .returning({ id: apiKeys.id });
  return rows.map(({ id }) => id);
}

/** Workflows run with their owner's rights of now, and the address of a webhook starts them without a login. */
async function disableWorkflows(
  transaction: Db,
  userId: string,
  { since }: TokenTraces,
): Promise<readonly string[]> {
  const saved = transaction
    .select({ id: auditLog.targetId })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, workflows.id),
        inArray(auditLog.action, ["workflow.create", "workflow.update", "workflow.rotate_webhook"]),
        eq(auditLog.actorId, userId),
        gt(auditLog.id, since),
      ),
    );
  const rows = await transaction
    .update(workflows)
    .set({ enabled: false })
    .where(and(eq(workflows.ownerId, userId), eq(workflows.enabled, true), sql`exists ${saved}`))
    .returning({ id: workflows.id });
  return rows.map(({ id }) => id);
}

interface Clearing {
  readonly traces: TokenTraces;
  readonly promotion: Promotion;
}

/** Only a password opens a session in which accounts are linked, so tokens that made keys alone had no part in these. */
async function clearLogins(
  transaction: Db,
  userId: string,
  { traces: { passwordSince, isPasswordOfToken }, promotion }: Clearing,
): Promise<JsonObject> {
  if (passwordSince === undefined) return {};
  const { setsPassword = false, signedInBy } = promotion;
  const isVoid = isPasswordOfToken && !setsPassword;
  if (isVoid) {
    await transaction.update(users).set({ passwordHash: null }).where(eq(users.id, userId));
  }
  const unlinked = await unlinkOwn(transaction, userId, { since: passwordSince, signedInBy });
  const ended = await transaction
    .delete(sessions)
    .where(eq(sessions.userId, userId))
    .returning({ id: sessions.id });
  return {
    ...(isVoid && { password: "void" }),
    ...(unlinked > 0 && { unlinked_accounts: unlinked }),
    // A password that is set has ended them already.
    ...(!setsPassword && { ended_sessions: ended.length }),
  };
}

/** Unlinks the accounts that the user linked since. What an administrator links has the administrator's entry. */
async function unlinkOwn(
  transaction: Db,
  userId: string,
  { since, signedInBy }: Pick<Promotion, "signedInBy"> & { readonly since: number },
): Promise<number> {
  const { issuer, subject } = identities;
  const own = transaction
    .select({ id: auditLog.id })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.targetId, userId),
        eq(auditLog.action, "user.link"),
        eq(auditLog.via, "service"),
        gt(auditLog.id, since),
        sql`${auditLog.details} ->> 'issuer' = ${issuer} and ${auditLog.details} ->> 'subject' = ${subject}`,
      ),
    );
  const isOther =
    signedInBy &&
    not(sql`(${issuer} = ${signedInBy.issuer} and ${subject} = ${signedInBy.subject})`);
  const gone = await transaction
    .delete(identities)
    .where(and(eq(identities.userId, userId), isOther, sql`exists ${own}`))
    .returning({ subject });
  return gone.length;
}
