import { and, desc, eq, isNotNull, lt, lte } from "drizzle-orm";
import { activeRuns, workflowRuns } from "../../../db/tables/workflows.ts";
import type { WorkflowStore } from "../../workflow-store.ts";

/** Runs whose duration is looked at. */
const SAMPLE = 10;
/** Ended runs lie right before the running one; a few of them never began. */
const LOOKED_AT = 50;
const UNKNOWN_SECONDS = 5;
const LONGEST_SECONDS = 600;

/**
 * Returns in how many seconds a full queue has probably room again: the mean duration of the last ten runs less the age
 * of the current one, 1 to 600; 5 when nothing is known.
 */
export async function readQueueWait(
  { database, clock }: Pick<WorkflowStore, "database" | "clock">,
  workflowId: string,
): Promise<number> {
  const now = clock.now();
  const { day, queuedAt, startedAt, endedAt } = workflowRuns;
  const { running, ended } = await database.ask(async (db) => {
    const [current] = await db
      .select()
      .from(activeRuns)
      .where(and(eq(activeRuns.workflowId, workflowId), eq(activeRuns.status, "running")));
    if (current === undefined) return { running: undefined, ended: [] };
    // Ended runs were queued before it; those that wait, and there may be very many, after it.
    const before = db
      .select({ startedAt, endedAt })
      .from(workflowRuns)
      .where(
        and(
          eq(workflowRuns.workflowId, workflowId),
          lte(day, current.day),
          lte(queuedAt, current.queuedAt),
          lt(workflowRuns.number, current.number),
        ),
      )
      .orderBy(desc(day), desc(queuedAt), desc(workflowRuns.id))
      .limit(LOOKED_AT)
      .as("before");
    const found = await db
      .select()
      .from(before)
      .where(and(isNotNull(before.startedAt), isNotNull(before.endedAt)))
      .limit(SAMPLE);
    return { running: current, ended: found };
  });
  if (running === undefined || ended.length === 0) return UNKNOWN_SECONDS;
  const durations = ended.map(
    (run) => (run.endedAt?.getTime() ?? 0) - (run.startedAt?.getTime() ?? 0),
  );
  const meanMs = durations.reduce((sum, ms) => sum + ms, 0) / durations.length;
  const ageMs = running.startedAt === null ? 0 : now - running.startedAt.getTime();
  return Math.min(LONGEST_SECONDS, Math.max(1, Math.ceil((meanMs - ageMs) / 1_000)));
}
