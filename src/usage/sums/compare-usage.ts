import { sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import type { TimeRange } from "../reports/search-backwards.ts";
import {
  dayDifferences,
  hourDifferences,
  MONTH_FIGURES,
  modelHourDifferences,
  monthDifferences,
} from "./usage-differences.ts";
import { eachFigure, HOUR_FIGURES } from "./usage-figures.ts";

/** A figure that is not what it is made from. */
export interface DifferentFigure {
  /** By the name of its column. */
  readonly name: string;
  /** As the rows say; for a day or a month, as its hours say; for an hour over all keys, as those of its keys say. */
  readonly counted: number;
  readonly stored: number;
}

/** The sums of one hour or day, key, model and channel, of one hour, model and channel, or of one month and key, that are wrong. */
export interface UsageDifference {
  readonly kind: "hour" | "day" | "month";
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
  /** How many there are. */
  readonly mismatches: number;
  /** The first of them. */
  readonly shown: readonly UsageDifference[];
}

/** Asks the database; a caller's queries and those of a job are asked in different ways. */
export type AskDatabase = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;

/** Compares the sums by hour with the rows, hour by hour, so that no statement is long. */
export async function compareHour(
  ask: AskDatabase,
  hour: TimeRange,
  limit: number,
): Promise<UsageDifferences> {
  const statement = sql`
    with ${hourDifferences(hour)}
    select
      count(*) over ()::float8 as mismatches, extract(epoch from hour)::float8 * 1000 as time, key_id, model, channel,
      ${sidesOf(HOUR_FIGURES)}
    from differences order by hour, key_id, model, channel limit ${limit}`;
  const rows = await ask((db) => db.execute<DifferenceRow>(statement));
  return readDifferences("hour", rows, HOUR_FIGURES);
}

/** Compares the sums over all keys of an hour with those of its keys. */
export async function compareModelHour(
  ask: AskDatabase,
  hour: TimeRange,
  limit: number,
): Promise<UsageDifferences> {
  const statement = sql`
    with ${modelHourDifferences(hour)}
    select
      count(*) over ()::float8 as mismatches, extract(epoch from hour)::float8 * 1000 as time, null as key_id, model,
      channel, ${sidesOf(HOUR_FIGURES)}
    from differences order by hour, model, channel limit ${limit}`;
  const rows = await ask((db) => db.execute<DifferenceRow>(statement));
  return readDifferences("hour", rows, HOUR_FIGURES);
}

/** Compares the sums of a day with those of its hours. */
export async function compareDay(
  ask: AskDatabase,
  day: TimeRange,
  limit: number,
): Promise<UsageDifferences> {
  const statement = sql`
    with ${dayDifferences(day)}
    select
      count(*) over ()::float8 as mismatches, ${day.from}::float8 as time, key_id, model, channel,
      ${sidesOf(HOUR_FIGURES)}
    from differences order by key_id, model, channel limit ${limit}`;
  const rows = await ask((db) => db.execute<DifferenceRow>(statement));
  return readDifferences("day", rows, HOUR_FIGURES);
}

/** Compares the sums of a month with those of its hours. */
export async function compareMonth(
  ask: AskDatabase,
  month: TimeRange,
  limit: number,
): Promise<UsageDifferences> {
  const statement = sql`
    with ${monthDifferences(month)}
    select
      count(*) over ()::float8 as mismatches, ${month.from}::float8 as time, key_id, null as model, null as channel,
      ${sidesOf(MONTH_FIGURES)}
    from differences order by key_id limit ${limit}`;
  const rows = await ask((db) => db.execute<DifferenceRow>(statement));
  return readDifferences("month", rows, MONTH_FIGURES);
}

type DifferenceRow = Readonly<Record<string, unknown>> & {
  readonly mismatches: number;
  readonly time: number;
  readonly key_id: string | null;
  readonly model: string | null;
  readonly channel: Channel | null;
};

function sidesOf(figures: readonly string[]) {
  const sides = figures.flatMap((name) => [`counted_${name}`, `stored_${name}`]);
  return eachFigure(sides, (column) => sql`${column}::float8 as ${column}`);
}

function readDifferences(
  kind: UsageDifference["kind"],
  rows: readonly DifferenceRow[],
  figures: readonly string[],
): UsageDifferences {
  return {
    mismatches: rows[0]?.mismatches ?? 0,
    shown: rows.map((row) => ({
      kind,
      time: row.time,
      keyId: row.key_id,
      model: row.model,
      channel: row.channel,
      figures: figures
        .map((name) => ({
          name,
          counted: Number(row[`counted_${name}`]),
          stored: Number(row[`stored_${name}`]),
        }))
        .filter(({ counted, stored }) => counted !== stored),
    })),
  };
}
