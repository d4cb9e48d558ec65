import { type SQL, sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import type { TimeRange } from "../reports/search-newest-first.ts";
import { eachFigure, listOf, selectSums, type UsageSums } from "./usage-sums.ts";

/** A figure that differs from its source. */
export interface DifferentFigure {
  /** The name of its column. */
  readonly name: string;
  /** The sum of the rows; for a day, a month or an hour over all keys, the sum of the keys' hours. */
  readonly counted: number;
  readonly stored: number;
}

/** Wrong sums of one hour or day, key, model and channel, of one hour, model and channel, or of one month and key. */
export interface UsageDifference {
  readonly kind: UsageSums["kind"];
  /** Unix milliseconds: the beginning of the hour, day or month. */
  readonly time: number;
  /** Null for an hour over all keys. */
  readonly keyId: string | null;
  /** Null for a month. */
  readonly model: string | null;
  readonly channel: Channel | null;
  readonly figures: readonly DifferentFigure[];
}

export interface UsageDifferences {
  /** Number of differences. */
  readonly mismatches: number;
  /** The first differences. */
  readonly shown: readonly UsageDifference[];
}

/**
 * Compares the sums of one hour, day or month with their source. A statement sees one moment, and rows are committed
 * together with their sums, so arriving rows do not look like a difference.
 */
export async function compareSums(
  db: Db,
  sums: UsageSums,
  { period, limit }: { readonly period: TimeRange; readonly limit: number },
): Promise<UsageDifferences> {
  const { keys, figures } = sums;
  const names = listOf(keys);
  const zeroed = (side: SQL) => eachFigure(figures, (name) => sql`coalesce(${side}.${name}, 0)`);
  const sides = eachFigure(
    figures,
    (name, text) => sql`
      coalesce(counted.${name}, 0)::float8 as ${sql.identifier(`counted_${text}`)},
      coalesce(stored.${name}, 0)::float8 as ${sql.identifier(`stored_${text}`)}`,
  );
  const rows = await db.execute<DifferenceRow>(sql`
    with
      counted as (${selectSums(sums, sourceOf(sums, period))}),
      stored as (select * from ${sums.table} where ${isOfPeriod(sums, period)})
    select count(*) over ()::float8 as mismatches, ${names}, ${sides}
    from counted full join stored using (${names})
    where row(${zeroed(sql`counted`)}) is distinct from row(${zeroed(sql`stored`)})
    order by ${names} limit ${limit}`);
  return {
    mismatches: rows[0]?.mismatches ?? 0,
    shown: rows.map((row) => ({
      kind: sums.kind,
      time: period.from,
      keyId: row.key_id ?? null,
      model: row.model ?? null,
      channel: row.channel ?? null,
      figures: figures.map((name) => figureOf(row, name)).filter(isDifferent),
    })),
  };
}

/** Builds the source rows of one hour, day or month. */
export function sourceOf({ source, sourceTime }: UsageSums, { from, to }: TimeRange): SQL {
  const time = sql.identifier(sourceTime);
  const [first, end] = [from, to].map((at) => sql`${new Date(at).toISOString()}::timestamptz`);
  return sql`${source} where ${time} >= ${first} and ${time} < ${end}`;
}

/** Builds the condition for the sums of one hour, day or month. */
export function isOfPeriod({ kind, type }: UsageSums, { from, to }: TimeRange): SQL {
  const name = sql.identifier(kind);
  const [first, end] = [from, to].map((at) => sql`${new Date(at).toISOString()}::${sql.raw(type)}`);
  return sql`${name} >= ${first} and ${name} < ${end}`;
}

type DifferenceRow = Readonly<Record<string, unknown>> & {
  readonly mismatches: number;
  readonly key_id?: string;
  readonly model?: string;
  readonly channel?: Channel;
};

function figureOf(row: DifferenceRow, name: string): DifferentFigure {
  return { name, counted: Number(row[`counted_${name}`]), stored: Number(row[`stored_${name}`]) };
}

function isDifferent({ counted, stored }: DifferentFigure): boolean {
  return counted !== stored;
}
