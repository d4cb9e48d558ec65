import { type SQL, sql } from "drizzle-orm";
import {
  modelHours,
  usageDays,
  usageHours,
  usageMonths,
  usageRecords,
} from "../../db/tables/usage.ts";
import type { TimeRange } from "../reports/search-backwards.ts";
import { COUNTED_FIGURES, eachFigure, HOUR_FIGURES, SUMMED_FIGURES } from "./usage-figures.ts";

/** What `usage_months` sums up. */
export const MONTH_FIGURES = ["requests", "tokens"] as const;

const timeOf = (ms: number) => sql`${new Date(ms).toISOString()}::timestamptz`;

/**
 * The part of a statement that finds, as `differences`, the sums by hour of a range of hours that are not what the rows
 * say: `counted_…` and `stored_…` for each figure. A statement sees one moment, and rows come with their sums in one:
 * so nothing that is just arriving looks like a difference.
 */
export function hourDifferences({ from, to }: TimeRange): SQL {
  return differences({
    keys: ["hour", "key_id", "model", "channel"],
    figures: HOUR_FIGURES,
    counted: sql`
      select date_trunc('hour', started_at, 'UTC') as hour, key_id, model, channel, ${COUNTED_FIGURES}
      from ${usageRecords} where started_at >= ${timeOf(from)} and started_at < ${timeOf(to)}
      group by 1, 2, 3, 4`,
    stored: sql`select * from ${usageHours} where hour >= ${timeOf(from)} and hour < ${timeOf(to)}`,
  });
}

/** The same for an hour over all keys, which is compared with the sums of its keys: these are compared with the rows. */
export function modelHourDifferences({ from, to }: TimeRange): SQL {
  const isInRange = sql`hour >= ${timeOf(from)} and hour < ${timeOf(to)}`;
  return differences({
    keys: ["hour", "model", "channel"],
    figures: HOUR_FIGURES,
    counted: sql`
      select hour, model, channel, ${SUMMED_FIGURES} from ${usageHours} where ${isInRange} group by 1, 2, 3`,
    stored: sql`select * from ${modelHours} where ${isInRange}`,
  });
}

/** The same for a day, which is compared with its hours as a month is. */
export function dayDifferences({ from, to }: TimeRange): SQL {
  return differences({
    keys: ["day", "key_id", "model", "channel"],
    figures: HOUR_FIGURES,
    counted: sql`
      select ${timeOf(from)} as day, key_id, model, channel, ${SUMMED_FIGURES}
      from ${usageHours} where hour >= ${timeOf(from)} and hour < ${timeOf(to)} group by 2, 3, 4`,
    stored: sql`select * from ${usageDays} where day = ${timeOf(from)}`,
  });
}

/**
 * The same for the month that begins at `month`, which is compared with its hours: these are there when the rows are
 * long gone, and are compared with the rows themselves.
 */
export function monthDifferences({ from, to }: TimeRange): SQL {
  const month = sql`${new Date(from).toISOString().slice(0, 10)}::date`;
  return differences({
    keys: ["key_id"],
    figures: MONTH_FIGURES,
    counted: sql`
      select key_id, sum(requests) as requests, sum(input_tokens + output_tokens) as tokens
      from ${usageHours} where hour >= ${timeOf(from)} and hour < ${timeOf(to)} group by 1`,
    stored: sql`select * from ${usageMonths} where month = ${month}`,
  });
}

interface Compared {
  readonly keys: readonly string[];
  readonly figures: readonly string[];
  readonly counted: SQL;
  readonly stored: SQL;
}

function differences({ keys, figures, counted, stored }: Compared): SQL {
  const names = eachFigure(keys, (column) => column);
  const zeroed = (side: SQL) => eachFigure(figures, (name) => sql`coalesce(${side}.${name}, 0)`);
  const both = eachFigure(
    figures,
    (name, text) => sql`
      coalesce(counted.${name}, 0) as ${sql.identifier(`counted_${text}`)},
      coalesce(stored.${name}, 0) as ${sql.identifier(`stored_${text}`)}`,
  );
  return sql`
    counted as (${counted}),
    stored as (${stored}),
    differences as (
      select ${names}, ${both}
      from counted full join stored using (${names})
      where row(${zeroed(sql`counted`)}) is distinct from row(${zeroed(sql`stored`)})
    )`;
}
