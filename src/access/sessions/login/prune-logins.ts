import { inArray, lt } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { loginFailures, sessions } from "../../../db/tables/users.ts";
import { FAILURES_KEPT_MS } from "./login-brake.ts";

/** Rows of one transaction. */
const ROWS_MAX = 10_000;
/**
 * Locked rows are left for the next run too: waiting for one could end in a deadlock with a transaction that holds it
 * and wants another.
 */
const UNLESS_HELD = { skipLocked: true } as const;

/**
 * Deletes expired sessions and failed logins that no longer count. Resolves with whether there may be more of them.
 *
 * @param now in Unix milliseconds.
 */
export async function pruneLogins(db: Db, now: number): Promise<boolean> {
  const over = db
    .select({ id: sessions.id })
    .from(sessions)
    .where(lt(sessions.expiresAt, new Date(now)))
    .limit(ROWS_MAX)
    .for("update", UNLESS_HELD);
  const ended = await db
    .delete(sessions)
    .where(inArray(sessions.id, over))
    .returning({ id: sessions.id });
  const forgotten = db
    .select({ subject: loginFailures.subject })
    .from(loginFailures)
    .where(lt(loginFailures.lastFailedAt, new Date(now - FAILURES_KEPT_MS)))
    .limit(ROWS_MAX)
    .for("update", UNLESS_HELD);
  const freed = await db
    .delete(loginFailures)
    .where(inArray(loginFailures.subject, forgotten))
    .returning({ subject: loginFailures.subject });
  return ended.length === ROWS_MAX || freed.length === ROWS_MAX;
}
