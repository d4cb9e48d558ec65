import { and, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { limitRefusals, usageHours } from "../../db/tables/usage.ts";

export interface PageOfHours {
  /** Unix milliseconds: the first hour that is meant, and the first that is no longer. */
  readonly from: number;
  readonly to: number;
  /** Each hour has a group for each owner of keys; otherwise for each key. */
  readonly isByOwner: boolean;
  readonly inChannel: SQL | undefined;
  /** What is refused is not known by model: then it counts nowhere. */
  readonly inModel: SQL | undefined;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Between which hours a page lies, as `reach(first, last, before)`, `before` being the groups of earlier hours; for a
 * `with recursive`. Hour after hour is counted, by the index alone, until the page and one group more are found: what
 * comes later is not looked at, and only the page's own hours need be summed up. Both hours are null behind the end.
 */
export function reachOfPage(page: PageOfHours): SQL {
  const { from, to, isByOwner, inChannel, inModel, limit, offset } = page;
  const inSums = and(inChannel, inModel);
  const inRefusals = inModel === undefined ? inChannel : sql`false`;
  const end = sql`${new Date(to).toISOString()}::timestamptz`;
  const nextHour = (table: PgTable, condition: SQL | undefined) =>
    sql`(select min(hour) from ${table} where ${and(sql`hour > counted.hour and hour < ${end}`, condition)})`;
  const keys = (table: PgTable, condition: SQL | undefined) =>
    sql`select key_id from ${table} where ${and(sql`hour = ahead.hour`, condition)}`;
  // Keys without an owner are one group.
  const groups = isByOwner
    ? sql`count(distinct coalesce(owned.owner_id, ''))`
    : sql`count(distinct called.key_id)`;
  const owners = isByOwner ? sql`left join ${apiKeys} as owned on owned.id = called.key_id` : sql``;
  return sql`
    counted as (
      select ${new Date(from).toISOString()}::timestamptz - interval '1 hour' as hour, 0::bigint as before, 0::bigint as groups
      union all
      select ahead.hour, counted.before + counted.groups, found.groups
      from counted
      cross join lateral (
        select least(${nextHour(usageHours, inSums)}, ${nextHour(limitRefusals, inRefusals)}) as hour
      ) as ahead
      cross join lateral (
        select ${groups} as groups
        from (${keys(usageHours, inSums)} union all ${keys(limitRefusals, inRefusals)}) as called ${owners}
      ) as found
      where ahead.hour is not null and counted.before + counted.groups <= ${limit + offset}
    ),
    reach as (
      select min(hour) as first, max(hour) as last, coalesce(min(before), 0) as before
      from counted where before + groups > ${offset}
    )`;
}
