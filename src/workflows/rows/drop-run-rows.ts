import { and, eq, inArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows, workflowRuns } from "../../db/tables/workflows.ts";
import type { ClaimedRun, RunStatus } from "../runs/run.ts";

/** Whether the rows of a run that ended so are kept. */
export function keepsRows(keepRows: ClaimedRun["keepRows"], status: RunStatus): boolean {
  return keepRows === "all" || (keepRows === "failed" && status === "failed");
}

/** Deletes the rows of runs of one day, in the caller's transaction, and notes it in their records. */
export async function dropRunRows(
  transaction: Db,
  { ids, day }: { readonly ids: readonly string[]; readonly day: string },
): Promise<void> {
  const { runId } = workflowRows;
  await transaction
    .delete(workflowRows)
    .where(and(eq(workflowRows.day, day), inArray(runId, [...ids])));
  await transaction
    .update(workflowRuns)
    .set({ rowsDropped: true })
    .where(and(eq(workflowRuns.day, day), inArray(workflowRuns.id, [...ids])));
}
