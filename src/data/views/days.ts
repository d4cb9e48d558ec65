/** SQL that the built-in views share about the UTC days of their rows. */

/** The UTC day (date) of a time. To look the zone up by its name would cost more than all else of a row. */
export function utcDay(time: string): string {
  return `(${time} at time zone interval '0')::date`;
}

/** The condition for the times of the UTC day `$1`, as `CopiedByDays.ofDay`. */
export function withinDay(time: string): string {
  const start = (day: string) => `${day}::timestamp at time zone 'UTC'`;
  return `${time} >= ${start("$1::date")} and ${time} < ${start("($1::date + 1)")}`;
}

interface DayRows {
  readonly table: string;
  /** Its time (timestamptz), by an index. */
  readonly time: string;
  /** Aggregates over the rows of a day, one of which differs once a row changed. */
  readonly sums: string;
}

/**
 * Fingerprints of the days of a table with times. Each day is looked up by itself, so that a condition on the day saves
 * the others: a `group by` would read all rows first.
 */
export function fingerprintTimes({ table, time, sums }: DayRows): string {
  return `select days.day, sums.fingerprint
    from (${listDays(table, time)}) as days
    cross join lateral (
      select concat_ws(' ', ${sums}) as fingerprint from ${table}
      where ${time} >= days.start and ${time} < days.start + interval '24 hours' having count(*) > 0
    ) as sums`;
}

/** The days from the first to the last time of a table: `day` (date) and `start` (timestamptz). */
export function listDays(table: string, time: string): string {
  return `select ${utcDay("start")} as day, start from generate_series(
    (select date_trunc('day', min(${time}), 'UTC') from ${table}), (select max(${time}) from ${table}),
    interval '24 hours') as start`;
}

/**
 * Fingerprints of the days of a table that is partitioned by its column `day` and whose rows change. Every change of a
 * row gives it the number of a later transaction.
 */
export function fingerprintChanges(table: string): string {
  return `select days.day, sums.fingerprint
    from (select start::date as day from generate_series(
      (select min(day)::timestamp from ${table}), (select max(day)::timestamp from ${table}), interval '1 day') as start
    ) as days
    cross join lateral (
      select concat_ws(' ', count(*), sum(xmin::text::bigint)) as fingerprint from ${table}
      where ${table}.day = days.day having count(*) > 0
    ) as sums`;
}

/** Rows of a table and its partitions: counted while they are few, and else what the last analysis of it found. */
export function estimateRows(table: string): string {
  return `(select case when sum(reltuples) > 100000 then sum(greatest(reltuples, 0))::bigint
      else (select count(*) from ${table}) end
    from pg_class where oid = '${table}'::regclass
      or oid in (select inhrelid from pg_inherits where inhparent = '${table}'::regclass))`;
}
