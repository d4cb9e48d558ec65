import { inArray, lt } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { loginFailures, sessions } from "../../db/tables/users.ts";
import { FAILURES_KEPT_MS } from "./login-brake.ts";

/** What is left over goes the next time. */
const ROWS_MAX = 10_000;
/** So does what somebody holds: to wait for it could end in a deadlock with whoever holds one row and wants another. */
const UNLESS_HELD = { skipLocked: true } as const;

/**
 * Deletes sessions that are over and failed logins that are forgotten.
 *
 * @param now Unix milliseconds.
 */
export async function pruneLogins(db: Db, now: number): Promise<void> {
  const over = db
    .select({ id: sessions.id })
    .from(sessions)
    .where(lt(sessions.expiresAt, new Date(now)))
    .limit(ROWS_MAX)
    .for("update", UNLESS_HELD);
  await db.delete(sessions).where(inArray(sessions.id, over));
  const forgotten = db
    .select({ subject: loginFailures.subject })
    .from(loginFailures)
    .where(lt(loginFailures.lastFailedAt, new Date(now - FAILURES_KEPT_MS)))
    .limit(ROWS_MAX)
    .for("update", UNLESS_HELD);
  await db.delete(loginFailures).where(inArray(loginFailures.subject, forgotten));
}
