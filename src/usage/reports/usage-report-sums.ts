import { and, type SQL, sql } from "drizzle-orm";
import { DAY_MS } from "../../db/days/day-table.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { limitRefusals, modelHours, usageDays, usageHours } from "../../db/tables/usage.ts";
import { eachFigure, HOUR_FIGURES } from "../sums/usage-sums.ts";
import type { UsageReportQuery } from "./usage-report.ts";

/** The columns of a sum that are kept; the others are null. */
export interface UsedColumns {
  readonly time: SQL;
  readonly key: SQL;
  readonly user: SQL;
  readonly model: SQL;
  readonly channel: SQL;
}

export const NO_COLUMNS: UsedColumns = {
  time: sql`null::timestamptz`,
  key: sql`null::text`,
  user: sql`null::text`,
  model: sql`null::text`,
  channel: sql`null::text`,
};

export interface UsedParts {
  readonly columns: UsedColumns;
  readonly sums: SQL;
  readonly inRange: SQL | undefined;
  readonly inModel: SQL | undefined;
}

/**
 * Builds usage and refusals by these columns. Sums are doubles, as the answer's numbers are: exact to 2^53, and half
 * the work of the database's sums of integers.
 */
export function usedBy({ columns, sums, inRange, inModel }: UsedParts): SQL {
  const { time, key, user, model, channel } = columns;
  const owned =
    user === NO_COLUMNS.user
      ? sql``
      : sql`left join (select id as key_id, owner_id from ${apiKeys}) as owned using (key_id)`;
  return sql`
    select
      ${time} as time, ${key} as key_id, ${user} as user_id, ${model} as model, ${channel} as channel,
      ${eachFigure(HOUR_FIGURES, (column) => sql`sum(${column}::float8) as ${column}`)}, 0::float8 as refused
    from ${sums} ${owned} where ${and(inRange, inModel)} group by 1, 2, 3, 4, 5
    union all
    select
      ${time}, ${key}, ${user}, null, ${channel}, ${eachFigure(HOUR_FIGURES, () => sql`0::float8`)}, sum(refusals::float8)
    from ${limitRefusals} ${owned} where ${inModel === undefined ? inRange : sql`false`} group by 1, 2, 3, 4, 5`;
}

/**
 * Selects the smallest source of sums. Daily sums, plus hours where a day is not whole or hours are asked for, have a
 * tenth of the rows of hourly ones. Hourly sums over all keys, when no key is asked for, have a tenth of those per key,
 * independent of the number of keys.
 */
export function sumsOf({ from, to, groups }: UsageReportQuery, isByKey: boolean): SQL {
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

/**
 * Builds the beginning of the hour or day; a month is given by its days. Hours of days that are kept as one row are
 * days, folded already or not.
 */
export function timeOf({
  groups,
  from,
  hourlyFrom,
}: Pick<UsageReportQuery, "groups" | "from"> & { readonly hourlyFrom: number }): SQL {
  const unit = (["hour", "day", "month"] as const).find((one) => groups.includes(one));
  if (unit === undefined) return sql`null::timestamptz`;
  // Several times cheaper than truncation in a time zone, which only a month's days need.
  const day = sql`date_bin('24 hours', hour, 'epoch')`;
  if (unit !== "hour") return day;
  // The index provides them in this order.
  if (from >= hourlyFrom) return sql`hour`;
  return sql`case when hour < ${new Date(hourlyFrom).toISOString()}::timestamptz then ${day} else hour end`;
}
