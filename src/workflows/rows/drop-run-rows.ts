import { and, eq } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows, workflowRuns } from "../../db/tables/workflows.ts";
import type { ClaimedRun } from "../runs/run.ts";

/** Whether the rows of a run that ended so are kept. */
export function keepsRows(
  keepRows: ClaimedRun["keepRows"],
  status: "completed" | "failed" | "stopped",
): boolean {
  return keepRows === "all" || (keepRows === "failed" && status === "failed");
}

/** Deletes the rows of a run, in the caller's transaction, and notes it in the run's record. */
export async function dropRunRows(
  transaction: Db,
  { id, day }: Pick<ClaimedRun, "id" | "day">,
): Promise<void> {
  await transaction
    .delete(workflowRows)
    .where(and(eq(workflowRows.day, day), eq(workflowRows.runId, id)));
  await transaction
    .update(workflowRuns)
    .set({ rowsDropped: true })
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, id)));
}
