import { type SQL, sql } from "drizzle-orm";

/** What sums of hours and days sum up, by the names of its columns. */
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

/** A list in a statement: each name as `each` writes it. */
export function eachFigure<Name extends string>(
  names: readonly Name[],
  each: (column: SQL, name: Name) => SQL,
): SQL {
  return sql.join(
    names.map((name) => each(sql`${sql.identifier(name)}`, name)),
    sql`, `,
  );
}

/** The same, summed up further. */
export const SUMMED_FIGURES = eachFigure(
  HOUR_FIGURES,
  (column) => sql`sum(${column}) as ${column}`,
);

/** The same sums, counted from rows of `usage_records`. */
export const COUNTED_FIGURES = sql`
  count(*) as requests,
  count(*) filter (where outcome in ('error', 'rate_limited')) as failures,
  count(*) filter (where outcome = 'rate_limited') as rate_limited,
  count(*) filter (where outcome = 'aborted') as aborted,
  sum(latency_ms) as latency_ms, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
  sum(cached_tokens) as cached_tokens, sum(reasoning_tokens) as reasoning_tokens`;

/** The `do update set` of an upsert that adds to the row which is `present`. */
export function addFigures(figures: readonly string[]): SQL {
  return eachFigure(figures, (column) => sql`${column} = present.${column} + excluded.${column}`);
}
