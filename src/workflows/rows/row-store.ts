import { and, asc, eq, gt } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows } from "../../db/tables/workflows.ts";
import type { RowChunk } from "./row.ts";

/** What the trigger brought is stored as if a step of this name had written it. */
export const TRIGGER_STEP = "$trigger";
export const MAIN = "main";

/** One output of one step of one run. */
export interface OutputPlace {
  /** The run's UTC day, `2026-11-23`. */
  readonly day: string;
  readonly runId: string;
  readonly stepId: string;
  readonly output: string;
}

/** Stores chunks behind those that are there. `first` is the number of the first one. */
export async function insertChunks(
  db: Db,
  place: OutputPlace,
  chunks: readonly RowChunk[],
  first: number,
): Promise<void> {
  const rows = chunks.map((chunk, index) => ({ ...place, ...chunk, chunk: first + index }));
  if (rows.length > 0) await db.insert(workflowRows).values(rows);
}

export interface NumberedChunk extends RowChunk {
  /** Its number in the output: they rise, and some may be missing. */
  readonly chunk: number;
}

/**
 * Reads the chunks of an output in their order, one statement a chunk, so that a slow consumer holds no transaction.
 * @param after the number of the chunk before the first one.
 */
export async function* readChunks(
  ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>,
  { day, runId, stepId, output }: OutputPlace,
  after = -1,
): AsyncGenerator<NumberedChunk> {
  const table = workflowRows;
  let last = after;
  for (;;) {
    const [found] = await ask((db) =>
      db
        .select({ chunk: table.chunk, rows: table.rows, bytes: table.bytes, data: table.data })
        .from(table)
        .where(
          and(
            eq(table.day, day),
            eq(table.runId, runId),
            eq(table.stepId, stepId),
            eq(table.output, output),
            gt(table.chunk, last),
          ),
        )
        .orderBy(asc(table.chunk))
        .limit(1),
    );
    if (found === undefined) return;
    last = found.chunk;
    yield found;
  }
}
