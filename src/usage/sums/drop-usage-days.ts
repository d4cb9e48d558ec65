import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { type Dropped, dropDays } from "../../db/days/drop-days.ts";
import { usageDays } from "../../db/tables/usage.ts";
import { USAGE_RECORDS } from "./usage-days.ts";

/** Drops the UTC days of usage before `cutoff`, a day's beginning. */
export function dropUsageDays(db: Db, cutoff: number): Promise<Dropped> {
  return dropDays(db, USAGE_RECORDS, { cutoff, countRows });
}

/** The sums have the number at once. */
async function countRows(transaction: Db, day: number): Promise<number> {
  const [counted] = await transaction.execute<{ rows: number }>(sql`
    select coalesce(sum(requests), 0)::float8 as rows from ${usageDays}
    where day = ${new Date(day).toISOString()}::timestamptz`);
  return counted?.rows ?? 0;
}
