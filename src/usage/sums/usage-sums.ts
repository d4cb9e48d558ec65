import { type SQL, sql } from "drizzle-orm";
import {
  modelHours,
  usageDays,
  usageHours,
  usageMonths,
  usageRecords,
} from "../../db/tables/usage.ts";

/** The columns that all hourly and daily sums add up. */
export const HOUR_FIGURES = [
  "requests",
  "failures",
  "rate_limited",
  "aborted",
  "latency_ms",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
] as const;

/** The columns that the hourly sums by key add up. Limits are computed from them. */
export const KEY_HOUR_FIGURES = [...HOUR_FIGURES, "extra_charge"] as const;

/** A table of sums, and how its rows are derived from the rows of `source`. */
export interface UsageSums {
  readonly kind: "hour" | "day" | "month";
  readonly table: typeof usageHours | typeof modelHours | typeof usageDays | typeof usageMonths;
  readonly source: typeof usageRecords | typeof usageHours;
  /** The time column of `source`. */
  readonly sourceTime: string;
  /** The beginning of the period of a `source` row: the column named `kind`. */
  readonly period: SQL;
  readonly type: "timestamptz" | "date";
  /** The columns that identify a sum within its period. */
  readonly keys: readonly string[];
  readonly figures: readonly string[];
  /** The figures, as aggregates over rows of `source`. */
  readonly aggregates: SQL;
}

/** Builds an SQL list, rendering each name with `each`. */
export function eachFigure<Name extends string>(
  names: readonly Name[],
  each: (column: SQL, name: Name) => SQL,
): SQL {
  return sql.join(
    names.map((name) => each(sql`${sql.identifier(name)}`, name)),
    sql`, `,
  );
}

/** Builds an SQL list of the plain names. */
export function listOf(names: readonly string[]): SQL {
  return eachFigure(names, (column) => column);
}

/** Builds the `do update set` of an upsert that adds to the row which is `present`. */
export function addFigures(figures: readonly string[]): SQL {
  return eachFigure(figures, (column) => sql`${column} = present.${column} + excluded.${column}`);
}

export const HOURS: UsageSums = {
  kind: "hour",
  table: usageHours,
  source: usageRecords,
  sourceTime: "started_at",
  period: sql`date_trunc('hour', started_at, 'UTC')`,
  type: "timestamptz",
  keys: ["key_id", "model", "channel"],
  figures: KEY_HOUR_FIGURES,
  aggregates: sql`
    count(*) as requests,
    count(*) filter (where outcome in ('error', 'rate_limited')) as failures,
    count(*) filter (where outcome = 'rate_limited') as rate_limited,
    count(*) filter (where outcome = 'aborted') as aborted,
    sum(latency_ms) as latency_ms, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
    sum(cached_tokens) as cached_tokens, sum(reasoning_tokens) as reasoning_tokens,
    sum(extra_charge) as extra_charge`,
};

const FROM_HOURS = {
  source: usageHours,
  sourceTime: "hour",
  type: "timestamptz",
  figures: HOUR_FIGURES,
  aggregates: eachFigure(HOUR_FIGURES, (column) => sql`sum(${column}) as ${column}`),
} as const;

/** The hourly sums over all keys. */
export const MODEL_HOURS: UsageSums = {
  ...FROM_HOURS,
  kind: "hour",
  table: modelHours,
  period: sql`hour`,
  keys: ["model", "channel"],
};

export const DAYS: UsageSums = {
  ...FROM_HOURS,
  kind: "day",
  table: usageDays,
  period: sql`date_trunc('day', hour, 'UTC')`,
  keys: ["key_id", "model", "channel"],
};

export const MONTHS: UsageSums = {
  ...FROM_HOURS,
  kind: "month",
  table: usageMonths,
  period: sql`date_trunc('month', hour at time zone 'UTC')::date`,
  type: "date",
  keys: ["key_id"],
  figures: ["requests", "tokens"],
  aggregates: sql`sum(requests) as requests, sum(input_tokens + output_tokens + extra_charge) as tokens`,
};

/** Builds the `select` of the sums of rows of `source`. */
export function selectSums({ kind, period, keys, aggregates }: UsageSums, source: SQL): SQL {
  return sql`
    select ${period} as ${sql.identifier(kind)}, ${listOf(keys)}, ${aggregates}
    from ${source} group by 1, ${listOf(keys)}`;
}

/**
 * Inserts sums into their table, in the order of their primary keys, so that concurrent statements on the same rows
 * wait for each other and do not deadlock.
 */
export function insertSums({ table, kind, keys, figures }: UsageSums, sums: SQL): SQL {
  const primaryKey = listOf([kind, ...keys]);
  return sql`
    insert into ${table} as present (${primaryKey}, ${listOf(figures)}) ${sums} order by ${primaryKey}`;
}

/** Inserts sums, adding to those that exist. */
export function addSums(sums: UsageSums, added: SQL): SQL {
  return sql`${insertSums(sums, added)}
    on conflict (${listOf([sums.kind, ...sums.keys])}) do update set ${addFigures(sums.figures)}`;
}
