import { and, asc, eq, gt, lte, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowSchedules, workflows } from "../../db/tables/workflows.ts";
import type { ScheduleTrigger } from "./next-tick.ts";
import { isSchedule, NO_TICK } from "./save-schedules.ts";
import { readTriggers } from "./stored-triggers.ts";

const table = workflowSchedules;

/** A stored schedule with its trigger, as the workflow's current version has it. */
export interface Schedule {
  readonly workflowId: string;
  readonly triggerKey: string;
  readonly savedAt: Date;
  readonly nextAt: Date;
  readonly isEnabled: boolean;
  /** Undefined when the version has no such trigger, or one that only another release can read. */
  readonly trigger: ScheduleTrigger | undefined;
}

/** Reads schedules whose next tick has come, the longest due first. */
export function readDue(db: Db, now: number, limit: number): Promise<readonly Schedule[]> {
  return read(db, lte(table.nextAt, new Date(now)), [asc(table.nextAt)], limit);
}

/** Reads schedules in the order of their keys, after one of them. */
export function readSchedulesAfter(
  db: Db,
  after: Pick<Schedule, "workflowId" | "triggerKey"> | undefined,
  limit: number,
): Promise<readonly Schedule[]> {
  const isMeant =
    after &&
    sql`(${table.workflowId}, ${table.triggerKey}) > (${after.workflowId}, ${after.triggerKey})`;
  return read(db, isMeant, [asc(table.workflowId), asc(table.triggerKey)], limit);
}

async function read(
  db: Db,
  isMeant: SQL | undefined,
  order: readonly SQL[],
  limit: number,
): Promise<readonly Schedule[]> {
  const rows = await db
    .select({
      schedule: table,
      isEnabled: workflows.enabled,
      triggers: sql<unknown>`${workflows.definition} -> 'triggers'`,
    })
    .from(table)
    .innerJoin(workflows, eq(workflows.id, table.workflowId))
    .where(isMeant)
    .orderBy(...order)
    .limit(limit);
  return rows.map(({ schedule, isEnabled, triggers }) => {
    const schedules = readTriggers(triggers).filter(isSchedule);
    const trigger = schedules.find(({ key }) => key === schedule.triggerKey)?.trigger;
    return { ...schedule, isEnabled, trigger };
  });
}

/** Returns when the next schedule is due, in Unix milliseconds; undefined when none is. */
export async function readNextDue(db: Db): Promise<number | undefined> {
  const [first] = await db
    .select({ nextAt: table.nextAt })
    .from(table)
    .where(gt(NO_TICK_TEXT, table.nextAt))
    .orderBy(asc(table.nextAt))
    .limit(1);
  return first?.nextAt.getTime();
}

const NO_TICK_TEXT = sql`${NO_TICK.toISOString()}::timestamptz`;

/**
 * Moves a schedule on. Resolves with false, and changes nothing, when another replica has moved it, or it was deleted.
 */
export async function moveSchedule(db: Db, schedule: Schedule, nextAt: Date): Promise<boolean> {
  const { workflowId, triggerKey } = schedule;
  const moved = await db
    .update(table)
    .set({ nextAt })
    .where(
      and(
        eq(table.workflowId, workflowId),
        eq(table.triggerKey, triggerKey),
        eq(table.nextAt, schedule.nextAt),
      ),
    )
    .returning({ workflowId: table.workflowId });
  return moved.length > 0;
}
