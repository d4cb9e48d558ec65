import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";

export const DAY_MS = 86_400_000;
/** The partition of rows whose day has no partition of its own. */
export const OTHER_DAYS = sql.identifier("usage_records_other");

const PREFIX = "usage_records_";
const NAME = /^usage_records_(\d{4})(\d{2})(\d{2})$/;

/** Returns the beginning of the UTC day; both are Unix milliseconds. */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** Returns the name of the partition that holds a UTC day. */
export function dayTable(day: number): string {
  return `${PREFIX}${new Date(day).toISOString().slice(0, 10).replaceAll("-", "")}`;
}

/** Lists the UTC days that have a partition of their own, in Unix milliseconds, the earliest first. */
export async function listUsageDays(db: Db): Promise<readonly number[]> {
  const rows = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'usage_records'::regclass`);
  return rows
    .flatMap(({ name }) => {
      const [, year, month, day] = NAME.exec(name) ?? [];
      return day === undefined ? [] : [Date.UTC(Number(year), Number(month) - 1, Number(day))];
    })
    .sort((one, other) => one - other);
}

/**
 * Returns the beginning of the first UTC day whose single rows are all kept and whose sums are hourly. A day is dropped
 * when its last row is USAGE_RETENTION_DAYS old. All times are Unix milliseconds.
 */
export function firstKeptDay(now: number, retentionDays: number): number {
  return dayOf(now) - retentionDays * DAY_MS;
}
