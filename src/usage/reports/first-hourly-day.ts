import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { usageHours } from "../../db/tables/usage.ts";
import { listUsageDays } from "../sums/usage-days.ts";

/**
 * The beginning of the first UTC day whose sums are by hour for certain, in Unix milliseconds. It is later than the first
 * day that is to be kept after USAGE_RETENTION_DAYS was raised: what was folded stays so, and its days have no partition.
 *
 * @param kept the first day whose single rows are kept, as `firstKeptDay` tells.
 */
export async function firstHourlyDay(db: Db, kept: number): Promise<number> {
  const [first = kept] = await listUsageDays(db);
  if (first <= kept) return kept;
  const [from, to] = [kept, first].map((day) => new Date(day).toISOString());
  const [earlier] = await db.execute<{ are_there: boolean }>(sql`
    select exists (
      select from ${usageHours} where hour >= ${from}::timestamptz and hour < ${to}::timestamptz
    ) as are_there`);
  return earlier?.are_there === true ? first : kept;
}
