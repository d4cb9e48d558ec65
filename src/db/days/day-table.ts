import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../context.ts";

export const DAY_MS = 86_400_000;

/**
 * A table with one partition a UTC day, `<name>_20261123`, which is dropped as a whole, and a default one,
 * `<name>_other`, for rows whose day has none.
 */
export interface DayTable {
  readonly name: string;
  /** The time or the date by which it is partitioned. */
  readonly column: string;
  /** One of ADVISORY_LOCK: lets one replica at a time create and drop its days. */
  readonly lock: number;
  /**
   * A day with more rows before its partition stays in the partition of other days: moving them would take too long.
   */
  readonly movedRowsMax: number;
}

/** Returns the beginning of the UTC day; both are Unix milliseconds. */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS;
}

/** Returns the name of the partition that holds a UTC day. */
export function nameOfDay({ name }: Pick<DayTable, "name">, day: number): string {
  return `${name}_${new Date(day).toISOString().slice(0, 10).replaceAll("-", "")}`;
}

/** Returns the partition of rows whose day has no partition of its own. */
export function otherDays({ name }: Pick<DayTable, "name">): SQL {
  return sql`${sql.identifier(`${name}_other`)}`;
}

/** Lists the UTC days that have a partition of their own, in Unix milliseconds, the earliest first. */
export async function listDays(
  db: Db,
  { name }: Pick<DayTable, "name">,
): Promise<readonly number[]> {
  const rows = await db.execute<{ name: string }>(sql`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${name}::regclass`);
  const pattern = new RegExp(`^${name}_(\\d{4})(\\d{2})(\\d{2})$`);
  return rows
    .flatMap((found) => {
      const [, year, month, day] = pattern.exec(found.name) ?? [];
      return day === undefined ? [] : [Date.UTC(Number(year), Number(month) - 1, Number(day))];
    })
    .sort((one, other) => one - other);
}
