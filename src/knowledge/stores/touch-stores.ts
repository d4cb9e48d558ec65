import { and, inArray, lt, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { vectorStores } from "../../db/tables/knowledge.ts";

const DAY_MS = 86_400_000;
/** A store that is searched all the time is not written more often. */
const TOUCH_PAUSE_MS = 60_000;

/** Whether `touchStores` would change the store, so that a search need not ask the database in vain. */
export function needsTouch(
  { lastActiveAt }: { readonly lastActiveAt: Date },
  now: number,
): boolean {
  return lastActiveAt.getTime() < now - TOUCH_PAUSE_MS;
}

/**
 * Records that stores are in use, which puts off their expiry.
 * @param now Unix milliseconds.
 */
export async function touchStores(db: Db, ids: readonly string[], now: number): Promise<void> {
  const { id, lastActiveAt, expiresAfterDays } = vectorStores;
  const at = new Date(now);
  await db
    .update(vectorStores)
    .set({
      lastActiveAt: at,
      expiresAt: sql`${at.toISOString()}::timestamptz + ${expiresAfterDays} * interval '24 hours'`,
    })
    .where(and(inArray(id, [...ids]), lt(lastActiveAt, new Date(now - TOUCH_PAUSE_MS))));
}

/** Returns when a store expires that was last active then; null for one that never does. */
export function expiryOf(lastActiveAt: Date, days: number | null): Date | null {
  return days === null ? null : new Date(lastActiveAt.getTime() + days * DAY_MS);
}
