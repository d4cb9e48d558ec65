import { desc, eq, inArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { sessions } from "../../db/tables/users.ts";

/** The maximum number of sessions of one user. */
const SESSIONS_MAX = 100;

/**
 * Ends the sessions of a user that would expire first, until there is room for one more. Called with the user's row
 * locked, so that the second of two concurrent logins counts the session of the first.
 */
export async function endOldestSessions(transaction: Db, userId: string): Promise<void> {
  const surplus = transaction
    .select({ id: sessions.id })
    .from(sessions)
    .where(eq(sessions.userId, userId))
    .orderBy(desc(sessions.expiresAt), desc(sessions.id))
    .offset(SESSIONS_MAX - 1);
  await transaction.delete(sessions).where(inArray(sessions.id, surplus));
}
