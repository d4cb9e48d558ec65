import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { dayOf, listUsageDays, OTHER_DAYS } from "./usage-days.ts";

/**
 * The beginning of the first UTC day whose rows are there, in Unix milliseconds; undefined when none is. It is later than
 * USAGE_RETENTION_DAYS says after that was raised, and when another replica's clock is ahead: what was dropped stays so.
 */
export async function firstStoredDay(db: Db): Promise<number | undefined> {
  const [other] = await db.execute<{ first: number | null }>(
    sql`select (extract(epoch from min(started_at)) * 1000)::float8 as first from ${OTHER_DAYS}`,
  );
  const first = other?.first ?? undefined;
  const days = (await listUsageDays(db)).slice(0, 1);
  if (first !== undefined) days.push(dayOf(first));
  return days.length === 0 ? undefined : Math.min(...days);
}
