import { and, eq, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows } from "../../db/tables/workflows.ts";
import { unpackRows } from "./pack-rows.ts";
import type { Row } from "./row.ts";
import { type OutputPlace, readChunks } from "./row-store.ts";

type Ask = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;

export interface RowPage {
  /** Rows before the first one. */
  readonly offset: number;
  /** Unset: all that follow. */
  readonly limit?: number | undefined;
}

/** The columns of a table of rows, in the order in which they first appear. */
export interface RowColumns {
  readonly names: readonly string[];
  /** More than `MAX_COLUMNS` were found; the others are missing. */
  readonly isCut: boolean;
}

/** As many as a spreadsheet shows. */
export const MAX_COLUMNS = 16_384;

/** Returns how many rows an output has, and their bytes as JSON. Both are 0 for an output that does not exist. */
export async function countStepRows(
  db: Db,
  { day, runId, stepId, output }: OutputPlace,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const table = workflowRows;
  const [sums] = await db
    .select({
      rows: sql<number>`coalesce(sum(${table.rows}), 0)::float8`,
      bytes: sql<number>`coalesce(sum(${table.bytes}), 0)::float8`,
    })
    .from(table)
    .where(
      and(
        eq(table.day, day),
        eq(table.runId, runId),
        eq(table.stepId, stepId),
        eq(table.output, output),
      ),
    );
  return { rows: sums?.rows ?? 0, bytes: sums?.bytes ?? 0 };
}

/**
 * Reads rows of an output in their order, a chunk at a time: in memory is one chunk, however many rows there are, and no
 * transaction is open between them. Chunks before the first row are not read.
 */
export async function* readStepRows(
  ask: Ask,
  place: OutputPlace,
  { offset, limit = Number.POSITIVE_INFINITY }: RowPage,
): AsyncGenerator<Row> {
  if (limit <= 0) return;
  const first = await ask((db) => findChunk(db, place, offset));
  if (first === undefined) return;
  let skipped = offset - first.before;
  let left = limit;
  for await (const chunk of readChunks(ask, place, first.chunk - 1)) {
    const rows = (await unpackRows(chunk)).slice(skipped, skipped + left);
    skipped = 0;
    left -= rows.length;
    yield* rows;
    if (left <= 0) return;
  }
}

/** Reads rows once to find their columns, for a table whose head comes first. */
export async function readRowColumns(
  ask: Ask,
  place: OutputPlace,
  page: RowPage,
): Promise<RowColumns> {
  const names = new Set<string>();
  for await (const row of readStepRows(ask, place, page)) {
    for (const name of Object.keys(row)) {
      if (names.size === MAX_COLUMNS && !names.has(name)) return { names: [...names], isCut: true };
      names.add(name);
    }
  }
  return { names: [...names], isCut: false };
}

/** Returns the chunk with the row at `offset`, and the number of rows before that chunk. */
async function findChunk(
  db: Db,
  { day, runId, stepId, output }: OutputPlace,
  offset: number,
): Promise<{ readonly chunk: number; readonly before: number } | undefined> {
  const [found] = await db.execute<{ chunk: number; before: number }>(sql`
    select chunk, (ends - rows)::float8 as before
    from (
      select chunk, rows, sum(rows) over (order by chunk) as ends
      from ${workflowRows}
      where day = ${day} and run_id = ${runId} and step_id = ${stepId} and output = ${output}
    ) as chunks
    where ends > ${offset}
    order by chunk
    limit 1`);
  return found;
}
