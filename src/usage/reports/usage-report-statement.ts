import { and, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { limitRefusals, modelHours, usageHours } from "../../db/tables/usage.ts";
import { users } from "../../db/tables/users.ts";
import { eachFigure, HOUR_FIGURES } from "../sums/usage-sums.ts";
import type { UsageGroup, UsageReportQuery, UsageSort } from "./usage-report.ts";
import { NO_COLUMNS, sumsOf, timeOf, type UsedColumns, usedBy } from "./usage-report-sums.ts";
import { usageScope } from "./usage-scope.ts";

const FIGURES = [...HOUR_FIGURES, "refused"] as const;

/** A row as the database returns it; that of the totals has place 0 and no group. */
export type ReportRow = Readonly<Record<(typeof FIGURES)[number], number>> & {
  readonly place: number;
  readonly time: number | null;
  readonly key_id: string | null;
  readonly model: string | null;
  readonly channel: string | null;
  readonly user_id: string | null;
  readonly key_name: string | null;
  readonly key_state: "active" | "inactive" | null;
  readonly owner_id: string | null;
  readonly owner_name: string | null;
  readonly owner_state: "active" | "disabled" | null;
};

/** The groups of `top`, of which some columns are null. */
const IS_OF_TOP = sql`exists (
  select from top where (top.key_id, top.model, top.channel, top.user_id) is not distinct from
    (grouped.key_id, grouped.model, grouped.channel, grouped.user_id)
)`;

const SORTED_BY: Readonly<Record<UsageSort, SQL>> = {
  requests: sql`requests`,
  failures: sql`failures`,
  refused: sql`refused`,
  input_tokens: sql`input_tokens`,
  output_tokens: sql`output_tokens`,
  cached_tokens: sql`cached_tokens`,
  total_tokens: sql`(input_tokens + output_tokens)`,
};

interface Page {
  readonly limit: number;
  readonly offset: number;
}

type Query = UsageReportQuery & { readonly hourlyFrom: number };

/**
 * Builds one statement for the totals and one page of groups, so that both are of the same moment. The earliest times
 * come first; within a time, the groups with the most of what they are sorted by.
 */
export function usageReportStatement(caller: AnyCaller, query: Query, page: Page | undefined): SQL {
  const has = (group: UsageGroup) => query.groups.includes(group);
  const { reach, used, totals, offset } = partsOf(usageScope(caller, query), query, page);
  const window = page === undefined ? sql`` : sql`limit ${page.limit + 1} offset ${offset}`;
  // A refusal is not a call of a model: it counts in the totals, and makes no group of its own.
  const isGroup = has("model") ? sql`model is not null` : undefined;
  const where = (condition: SQL | undefined) => condition && sql`where ${condition}`;
  const isShown = where(and(isGroup, query.top === undefined ? undefined : IS_OF_TOP));
  const figure = SORTED_BY[query.sort ?? "requests"];
  const order = sql`time, ${figure} desc, key_id, model, channel, user_id`;
  return sql`
    with recursive ${reach}
    used as (${used}),
    grouped as (
      select
        ${has("month") ? sql`date_trunc('month', used.time, 'UTC') as time` : sql`used.time`},
        key_id, model, channel, user_id, ${eachFigure(FIGURES, (column) => sql`sum(${column}) as ${column}`)}
      from used group by 1, 2, 3, 4, 5
    ),
    top as (
      select key_id, model, channel, user_id from grouped ${where(isGroup) ?? sql``}
      group by 1, 2, 3, 4 order by sum(${figure}) desc, 1, 2, 3, 4 limit ${query.top ?? 0}
    ),
    page as (
      select row_number() over (order by ${order}) as place, shown.*
      from (select * from grouped ${isShown ?? sql``} order by ${order} ${window}) as shown
    )
    select
      0::float8 as place, null::float8 as time, null as key_id, null as model, null as channel, null as user_id,
      ${eachFigure(FIGURES, (column) => sql`coalesce(sum(${column}), 0) as ${column}`)},
      null as key_name, null as key_state, null as owner_id, null as owner_name,
      null as owner_state
    from ${totals}
    union all
    select
      place::float8, extract(epoch from time)::float8 * 1000, page.key_id, page.model, page.channel, page.user_id,
      ${eachFigure(FIGURES, (column) => column)},
      api_keys.name, api_keys.state, users.id, users.username, users.state
    from page
    left join ${apiKeys} on api_keys.id = page.key_id
    left join ${users} on users.id = coalesce(page.user_id, api_keys.owner_id)
    order by place`;
}

/** Builds the sources of the page's groups and of the totals. */
function partsOf(scope: SQL | undefined, query: Query, page: Page | undefined) {
  const has = (group: UsageGroup) => query.groups.includes(group);
  const inChannel = query.channel === undefined ? undefined : sql`channel = ${query.channel}`;
  const inModel = query.model === undefined ? undefined : sql`model = ${query.model}`;
  const inRange = and(
    sql`hour >= ${new Date(query.from).toISOString()}::timestamptz`,
    sql`hour < ${new Date(query.to).toISOString()}::timestamptz`,
    scope,
    inChannel,
  );
  const columns: UsedColumns = {
    ...NO_COLUMNS,
    time: timeOf(query),
    ...(has("key") && { key: sql`key_id` }),
    ...(has("user") && { user: sql`owner_id` }),
    ...(has("model") && { model: sql`model` }),
    ...(has("channel") && { channel: sql`channel` }),
  };
  const hasKeys = has("key") || has("user");
  const sums = sumsOf(query, hasKeys || scope !== undefined);
  const isOfHours = has("hour") && query.from >= query.hourlyFrom;
  const isPageOfHours = page !== undefined && isOfHours && query.top === undefined;
  if (!isPageOfHours || !hasKeys || scope !== undefined) {
    const whole = usedBy({ columns, sums, inRange, inModel });
    return { reach: sql``, used: whole, totals: sql`grouped`, offset: page?.offset };
  }
  // Each key has a group in each hour: only the page's groups are summed, and the totals come from the sums over all
  // keys.
  const reach = hoursOfPage({ ...query, ...page, inChannel, inModel, isByOwner: has("user") });
  const inReach = and(
    sql`hour between (select first from reach) and (select last from reach)`,
    inRange,
  );
  const overKeys = { columns: NO_COLUMNS, sums: sql`${modelHours}`, inRange, inModel };
  return {
    reach: sql`${reach},`,
    used: usedBy({ columns, sums, inRange: inReach, inModel }),
    totals: sql`(${usedBy(overKeys)}) as used`,
    offset: sql`${page.offset} - (select before from reach)`,
  };
}

export interface PageOfHours {
  /** Unix milliseconds: the first hour, and the exclusive end. */
  readonly from: number;
  readonly to: number;
  /** True: each hour has a group per owner of keys; otherwise per key. */
  readonly isByOwner: boolean;
  readonly inChannel: SQL | undefined;
  /** Refusals are not known by model, so with a model they are not counted. */
  readonly inModel: SQL | undefined;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Finds the hours that a page covers, as `reach(first, last, before)`, `before` being the groups of earlier hours; for
 * a `with recursive`. It counts hour by hour, only with the index, until the page and one more group are found. Later
 * hours are not read, and only the page's own hours are summed. Both hours are null past the end.
 */
function hoursOfPage(page: PageOfHours): SQL {
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
