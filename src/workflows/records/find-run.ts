import { and, asc, eq } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { workflowRuns, workflowSteps, workflows } from "../../db/tables/workflows.ts";
import { mayUse } from "../../knowledge/rights.ts";
import { type RowRetention, withRowState } from "../rows/row-retention.ts";
import { dayOfRun } from "../runs/run-id.ts";

export type RunRow = typeof workflowRuns.$inferSelect;
export type StepRow = typeof workflowSteps.$inferSelect;

/** A run with its steps in the order of its definition. */
export interface RunWithSteps extends RunRow {
  readonly steps: readonly StepRow[];
}

export interface RunReading extends RowRetention {
  readonly database: Pick<Database, "ask">;
}

/** Rejects with `not_found`, also for a run that is not the caller's to see. */
export function findRun(
  { database, settings, clock }: RunReading,
  caller: AnyCaller,
  runId: string,
): Promise<RunWithSteps> {
  return database.ask(async (db) => {
    const run = await readRun(db, caller, runId);
    const steps = await db
      .select()
      .from(workflowSteps)
      .where(and(eq(workflowSteps.day, run.day), eq(workflowSteps.runId, runId)))
      .orderBy(asc(workflowSteps.position));
    return { ...withRowState(run, { settings, clock }), steps };
  });
}

/** Returns a run of a workflow that the caller may see, or of one that was the caller's. Rejects with `not_found`. */
export async function readRun(db: Db, caller: AnyCaller, runId: string): Promise<RunRow> {
  const day = dayOfRun(runId);
  if (day === undefined) throw unknown();
  const [found] = await db
    .select({ run: workflowRuns, workflow: workflows })
    .from(workflowRuns)
    .leftJoin(workflows, eq(workflows.id, workflowRuns.workflowId))
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)));
  if (found === undefined) throw unknown();
  const { run, workflow } = found;
  const isOwn = run.ownerId === caller.ownerId || caller.role === "admin";
  if (isOwn || (workflow !== null && mayUse(workflow, caller))) return run;
  throw unknown();
}

function unknown(): ServiceError {
  return new ServiceError("not_found", "There is no run of this id; see GET /api/pipeline/runs.");
}
