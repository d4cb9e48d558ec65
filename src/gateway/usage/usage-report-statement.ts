import { and, type SQL, sql } from "drizzle-orm";
import type { SessionCaller } from "../../core/caller.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { limitRefusals, modelHours, usageDays, usageHours } from "../../db/tables/usage.ts";
import { users } from "../../db/tables/users.ts";
import { DAY_MS } from "./usage-days.ts";
import { eachFigure, HOUR_FIGURES } from "./usage-figures.ts";
import type { UsageGroup, UsageReportQuery } from "./usage-report.ts";
import { usageScope } from "./usage-scope.ts";

const FIGURES = [...HOUR_FIGURES, "refused"] as const;

/** A row as the database gives it; that of the totals has place 0 and no group. */
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

interface Page {
  readonly limit: number;
  readonly offset: number;
}

/**
 * The totals and one page of groups in one statement, so that they are of one moment. Hours are summed up before they
 * are joined with anything: there are many, and few groups. Sums are doubles, as the answer's numbers are: exact to 2^53
 * as those, and half the work of the database's sums of integers. Times come first, the earliest first; within them,
 * what was called most.
 */
export function usageReportStatement(
  caller: SessionCaller,
  query: UsageReportQuery & { readonly hourlyFrom: number },
  page: Page | undefined,
): SQL {
  const has = (group: UsageGroup) => query.groups.includes(group);
  const time = timeOf(query);
  const hasKeys = has("key") || has("user");
  const key = hasKeys ? sql`key_id` : sql`null::text`;
  const channel = has("channel") ? sql`channel` : sql`null::text`;
  const scope = usageScope(caller, query);
  const sums = sumsOf(query, hasKeys || scope !== undefined);
  const inRange = and(
    sql`hour >= ${new Date(query.from).toISOString()}::timestamptz`,
    sql`hour < ${new Date(query.to).toISOString()}::timestamptz`,
    scope,
    query.channel === undefined ? undefined : sql`channel = ${query.channel}`,
  );
  const inModel = query.model === undefined ? undefined : sql`model = ${query.model}`;
  // A refusal is no call of a model: it counts in the totals, and makes no group of its own.
  const isShown = has("model") ? sql`where model is not null` : sql``;
  const window = page === undefined ? sql`` : sql`limit ${page.limit + 1} offset ${page.offset}`;
  const order = sql`time, requests desc, key_id, model, channel, user_id`;
  return sql`
    with used as (
      select
        ${time} as time, ${key} as key_id, ${has("model") ? sql`model` : sql`null::text`} as model,
        ${channel} as channel, ${eachFigure(HOUR_FIGURES, (column) => sql`sum(${column}::float8) as ${column}`)},
        0::float8 as refused
      from ${sums} where ${and(inRange, inModel)} group by 1, 2, 3, 4
      union all
      select
        ${time}, ${key}, null, ${channel}, ${eachFigure(HOUR_FIGURES, () => sql`0::float8`)}, sum(refusals::float8)
      from ${limitRefusals} where ${inModel === undefined ? inRange : sql`false`} group by 1, 2, 3, 4
    ),
    grouped as (
      select
        ${has("month") ? sql`date_trunc('month', used.time, 'UTC') as time` : sql`used.time`},
        ${has("key") ? sql`used.key_id` : sql`null::text`} as key_id, used.model, used.channel,
        ${has("user") ? sql`owned.owner_id` : sql`null::text`} as user_id,
        ${eachFigure(FIGURES, (column) => sql`sum(used.${column}) as ${column}`)}
      from used ${has("user") ? sql`left join ${apiKeys} as owned on owned.id = used.key_id` : sql``}
      group by 1, 2, 3, 4, 5
    ),
    page as (
      select row_number() over (order by ${order}) as place, shown.*
      from (select * from grouped ${isShown} order by ${order} ${window}) as shown
    )
    select
      0::float8 as place, null::float8 as time, null as key_id, null as model, null as channel, null as user_id,
      ${eachFigure(FIGURES, (column) => sql`coalesce(sum(${column}), 0) as ${column}`)},
      null as key_name, null as key_state, null as owner_id, null as owner_name,
      null as owner_state
    from grouped
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

/**
 * The sums of days, and of hours where a day is not whole or hours are asked for: a tenth of what the hours are. The sums
 * of hours over all keys where no key is asked for: a tenth of those of the keys, and as few however many keys there are.
 */
function sumsOf({ from, to, groups }: UsageReportQuery, isByKey: boolean): SQL {
  const hours = isByKey ? usageHours : modelHours;
  const firstDay = Math.ceil(from / DAY_MS) * DAY_MS;
  const endDay = Math.floor(to / DAY_MS) * DAY_MS;
  if (groups.includes("hour") || firstDay >= endDay) return sql`${hours}`;
  const at = (time: number) => sql`${new Date(time).toISOString()}::timestamptz`;
  const columns = sql`${isByKey ? sql`key_id, ` : sql``}model, channel, ${eachFigure(HOUR_FIGURES, (column) => column)}`;
  return sql`(
    select day as hour, ${columns} from ${usageDays}
    where day >= ${at(firstDay)} and day < ${at(endDay)}
    union all
    select hour, ${columns} from ${hours}
    where (hour >= ${at(from)} and hour < ${at(firstDay)}) or (hour >= ${at(endDay)} and hour < ${at(to)})
  ) as sums`;
}

/** The beginning of the hour or day; of a month its days. Hours of days that are kept as one are days, folded already or not. */
function timeOf({
  groups,
  from,
  hourlyFrom,
}: Pick<UsageReportQuery, "groups" | "from"> & { readonly hourlyFrom: number }): SQL {
  const unit = (["hour", "day", "month"] as const).find((one) => groups.includes(one));
  if (unit === undefined) return sql`null::timestamptz`;
  // Several times cheaper than to truncate in a time zone, which is left for a month's days.
  const day = sql`date_bin('24 hours', hour, 'epoch')`;
  if (unit !== "hour") return day;
  // An index has them in their order.
  if (from >= hourlyFrom) return sql`hour`;
  return sql`case when hour < ${new Date(hourlyFrom).toISOString()}::timestamptz then ${day} else hour end`;
}
