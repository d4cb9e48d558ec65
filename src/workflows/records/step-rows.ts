import { and, asc, eq } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import { workflowRows } from "../../db/tables/workflows.ts";
import { unpackRows } from "../rows/pack-rows.ts";
import type { Row, RowChunk } from "../rows/row.ts";
import { MAIN, type OutputPlace, readChunks, TRIGGER_STEP } from "../rows/row-store.ts";
import { findRun, type RunReading } from "./find-run.ts";

interface RowReading {
  readonly database: Pick<Database, "ask">;
}

export interface RowsPage {
  readonly rows: readonly Row[];
  /** Rows of the whole output. */
  readonly total: number;
}

/**
 * Returns where the rows of an output of a step are; `$trigger` is what the trigger brought. Rejects with `not_found`
 * for a run or step that is not there, and once the rows were deleted.
 */
export async function findRows(
  reading: RunReading,
  caller: AnyCaller,
  {
    runId,
    stepId,
    output = MAIN,
  }: { readonly runId: string; readonly stepId: string; readonly output?: string | undefined },
): Promise<OutputPlace> {
  const run = await findRun(reading, caller, runId);
  const step = run.steps.find((known) => known.stepId === stepId);
  if (step === undefined && stepId !== TRIGGER_STEP) {
    throw new ServiceError("not_found", "The run has no step of this id; see the run's `steps`.");
  }
  if (run.rowsDropped) {
    throw new ServiceError(
      "not_found",
      "The rows of this run were deleted: they are kept for WORKFLOW_ROWS_RETENTION_DAYS, or as 'keep_rows' of the workflow says.",
    );
  }
  return { day: run.day, runId, stepId, output };
}

/** Reads some rows of an output; only the chunks that hold them are unpacked. */
export async function readRowsPage(
  { database }: RowReading,
  place: OutputPlace,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<RowsPage> {
  const table = workflowRows;
  const isOf = and(
    eq(table.day, place.day),
    eq(table.runId, place.runId),
    eq(table.stepId, place.stepId),
    eq(table.output, place.output),
  );
  const chunks = await database.ask((db) =>
    db
      .select({ chunk: table.chunk, rows: table.rows })
      .from(table)
      .where(isOf)
      .orderBy(asc(table.chunk)),
  );
  const rows: Row[] = [];
  let total = 0;
  for (const { chunk, rows: count } of chunks) {
    const first = Math.max(offset - total, 0);
    total += count;
    if (first >= count || rows.length >= limit) continue;
    const [found] = await database.ask((db) =>
      db
        .select({ rows: table.rows, bytes: table.bytes, data: table.data })
        .from(table)
        .where(and(isOf, eq(table.chunk, chunk))),
    );
    if (found === undefined) continue;
    rows.push(...(await unpackRows(found)).slice(first, first + limit - rows.length));
  }
  return { rows, total };
}

/** Reads all chunks of an output in their order, as they are asked for. */
export function readAllRows(
  { database }: RowReading,
  place: OutputPlace,
): AsyncGenerator<RowChunk> {
  return readChunks(database.ask, place);
}
