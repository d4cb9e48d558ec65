import { and, eq, notInArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { nextChange } from "../../db/next-change.ts";
import { workflowSchedules, workflows } from "../../db/tables/workflows.ts";
import type { Trigger } from "../definition/definition.ts";
import { nextTick, ScheduleFault, type ScheduleTrigger } from "./next-tick.ts";
import { type KeyedTrigger, readTriggers } from "./stored-triggers.ts";

/** The next tick of a schedule that has none: its workflow is disabled, or no such time will come. */
export const NO_TICK = new Date("9999-12-31T23:59:59.000Z");

/** A schedule that a replica cannot read is looked at again so much later: another one may know its time zone. */
export const UNREAD_PAUSE_MS = 600_000;

/**
 * Stores when the triggers of a workflow come next, and lets every replica know that they changed. To be called in the
 * transaction that creates a workflow or changes its triggers or `enabled`, after that change.
 *
 * A schedule that was there before keeps its rhythm; one of a disabled workflow rests, and goes on from when the
 * workflow is enabled, without what it missed.
 *
 * @param now Unix milliseconds.
 */
export async function saveSchedules(
  transaction: Db,
  workflowId: string,
  triggers: readonly Trigger[],
  now: number,
): Promise<void> {
  const table = workflowSchedules;
  const schedules = readTriggers(triggers).filter(isSchedule);
  const isOfWorkflow = eq(table.workflowId, workflowId);
  const keys = schedules.map(({ key }) => key);
  await transaction.delete(table).where(and(isOfWorkflow, notInArray(table.triggerKey, keys)));
  const [workflow] = await transaction
    .select({ enabled: workflows.enabled })
    .from(workflows)
    .where(eq(workflows.id, workflowId));
  const isEnabled = workflow?.enabled === true;
  const known = await transaction.select().from(table).where(isOfWorkflow);
  for (const { key, trigger } of schedules) {
    const old = known.find(({ triggerKey }) => triggerKey === key);
    const savedAt = old?.savedAt ?? new Date(now);
    const isResting = old === undefined || old.nextAt.getTime() === NO_TICK.getTime();
    const next = isResting ? tickOrPause(trigger, savedAt, now) : old.nextAt;
    const nextAt = isEnabled ? next : NO_TICK;
    await transaction
      .insert(table)
      .values({ workflowId, triggerKey: key, savedAt, nextAt })
      .onConflictDoUpdate({ target: [table.workflowId, table.triggerKey], set: { nextAt } });
  }
  await nextChange(transaction, "workflows");
}

/** @param after Unix milliseconds. Returns NO_TICK when there is none. */
export function tickAfter(trigger: ScheduleTrigger, savedAt: Date, after: number): Date {
  const tick = nextTick(trigger, savedAt.getTime(), after);
  return tick === undefined ? NO_TICK : new Date(tick);
}

/** What else is saved of a workflow does not depend on a schedule that this runtime cannot read. */
function tickOrPause(trigger: ScheduleTrigger, savedAt: Date, now: number): Date {
  try {
    return tickAfter(trigger, savedAt, now);
  } catch (thrown) {
    if (thrown instanceof ScheduleFault) return new Date(now + UNREAD_PAUSE_MS);
    throw thrown;
  }
}

export function isSchedule(keyed: KeyedTrigger): keyed is KeyedTrigger<ScheduleTrigger> {
  return keyed.trigger.kind === "schedule";
}
