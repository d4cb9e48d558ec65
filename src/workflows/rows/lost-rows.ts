import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows, workflowSteps } from "../../db/tables/workflows.ts";
import { TRIGGER_STEP } from "./row-store.ts";

interface EndedRun {
  readonly id: string;
  /** Its UTC day, as `2026-11-23`. */
  readonly day: string;
  readonly rowsReceived: number;
  readonly rowsDropped: boolean;
}

/**
 * Returns the record of a run as one whose rows were deleted when some that it counts are not stored. Of rows that went
 * with their day no record knows: the retention may have been shorter then than it is now, or the day was not restored.
 */
export async function withStoredRows<Run extends EndedRun>(db: Db, run: Run): Promise<Run> {
  if (run.rowsDropped || !(await lacksRows(db, run))) return run;
  return { ...run, rowsDropped: true };
}

async function lacksRows(db: Db, { id, day, rowsReceived }: EndedRun): Promise<boolean> {
  const found = await db.execute(sql`
    with counted as (
      select ${TRIGGER_STEP} as step_id, ${rowsReceived}::bigint as rows
      union all
      select step_id, (output ->> 'rows')::bigint
      from ${workflowSteps}, jsonb_array_elements(outputs) as output
      where day = ${day} and run_id = ${id} and status = 'completed'
    ), stored as (
      select step_id, sum(rows) as rows from ${workflowRows}
      where day = ${day} and run_id = ${id} and output not like '$%'
      group by step_id
    )
    select step_id from counted
    group by step_id
    having sum(rows) > coalesce((select rows from stored where stored.step_id = counted.step_id), 0)
    limit 1`);
  return found.length > 0;
}
