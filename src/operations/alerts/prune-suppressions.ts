import { and, between, not, notInArray, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { alertSuppressions } from "../../db/tables/outbox.ts";

const DAY_MS = 86_400_000;
/** Longer than any window that is a length of time. */
const KEEP_MS = 30 * DAY_MS;

/**
 * Forgets alerts of long ago, and those sent under a clock that was far ahead: neither silences anything.
 *
 * @param now Unix milliseconds.
 * @param lasting `type subject` of what is still silenced by an alert of any age.
 */
export async function pruneSuppressions(
  db: Db,
  now: number,
  lasting: readonly string[],
): Promise<void> {
  const { type, subject, lastSentAt } = alertSuppressions;
  await db
    .delete(alertSuppressions)
    .where(
      and(
        not(between(lastSentAt, new Date(now - KEEP_MS), new Date(now + DAY_MS))),
        notInArray(sql`${type} || ' ' || ${subject}`, [...lasting]),
      ),
    );
}
