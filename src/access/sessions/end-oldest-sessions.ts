import { desc, eq, inArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { sessions } from "../../db/tables/users.ts";

/** Of one user, at a time. */
const SESSIONS_MAX = 100;

/**
 * Ends those sessions of a user that would end first, as many as it takes for one more to have room. Called with the
 * user's row locked: of two logins at once the second counts the session of the first.
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
