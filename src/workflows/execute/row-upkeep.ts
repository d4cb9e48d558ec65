import type { Part } from "../../core/part.ts";
import type { Db } from "../../db/context.ts";
import { isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import { DAY_MS, type DayTable, dayOf } from "../../db/days/day-table.ts";
import { type Dropped, dropDays } from "../../db/days/drop-days.ts";
import { makeDays } from "../../db/days/make-days.ts";
import { isReachedDay } from "../../db/days/reached-day.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { activeRuns } from "../../db/tables/workflows.ts";
import { causeOf } from "../../lib/log.ts";
import { rowRetentionDays } from "../rows/row-retention.ts";
import type { WorkflowStore } from "../workflow-store.ts";

type UpkeepStore = Pick<WorkflowStore, "settings" | "database" | "clock" | "log">;

const PAUSE_MS = 60_000;
/** Between two looks at what is due, unless the day changes. */
const INTERVAL_MS = 60 * 60_000;
/** Dead events can be redriven for 30 days after their last try, and must start nothing a second time. */
const FACT_DAYS = 32;

const of = (name: string, movedRowsMax: number): DayTable => ({
  ...{ name, movedRowsMax, column: "day", lock: ADVISORY_LOCK.workflowUpkeep },
});

const RUNS = of("workflow_runs", 100_000);
const STEPS = of("workflow_steps", 100_000);
/** Each may have a megabyte. */
const ROWS = of("workflow_rows", 1_000);
const FACTS = of("workflow_facts", 100_000);

/**
 * Creates the days of runs, steps, rows and facts, and drops old ones: soon after the start, once an hour and soon after
 * midnight UTC. In between it costs nothing. Rows whose day has no partition are kept with those of other days.
 */
export async function openRowUpkeep({
  settings,
  database,
  clock,
  log,
}: UpkeepStore): Promise<Part<Db>> {
  const { db } = database;
  // Before the first run is accepted: a row that arrives while its day gets a partition is refused.
  await makeAllDays(db, clock.now()).catch((thrown: unknown) => {
    log.warn({ cause: causeOf(thrown) }, "the partitions of workflow rows are created later");
  });
  let doneFor: number | undefined;
  let dueAt = 0;
  const isDone = (today: number) => {
    doneFor = today;
    dueAt = performance.now() + INTERVAL_MS;
  };
  const run = async (): Promise<void> => {
    const now = clock.now();
    const today = dayOf(now);
    if (today === doneFor && performance.now() < dueAt) return;
    try {
      const isReady = await makeAllDays(db, now);
      const dropped = await dropOldDays(db, settings, today);
      const { days, rows } = dropped;
      if (days > 0 || rows > 0)
        log.info({ days, rows }, "dropped workflow data past its retention");
      // The rest, blocked by a reader or by another replica, is retried with the next run.
      if (isReady && dropped.isDone) isDone(today);
    } catch (thrown) {
      const error = toDatabaseError(thrown);
      if (isUnavailable(error)) return;
      // A permanent failure would repeat every minute; it is logged once an hour.
      isDone(today);
      throw error;
    }
  };
  return { jobs: [{ name: "keep workflow rows", pauseMs: PAUSE_MS, firstMs: 0, run }] };
}

async function makeAllDays(db: Db, now: number): Promise<boolean> {
  let isReady = true;
  for (const table of [RUNS, STEPS, ROWS, FACTS]) {
    if (!(await makeDays(db, table, now))) isReady = false;
  }
  return isReady;
}

async function dropOldDays(
  db: Db,
  settings: UpkeepStore["settings"],
  today: number,
): Promise<Dropped> {
  let sum: Dropped = { days: 0, rows: 0, isDone: true };
  // The upkeep of usage says in the log that the clock has leapt.
  if (!(await isReachedDay(db, RUNS, today))) return sum;
  const kept = await activeDays(db);
  const runDays = settings.WORKFLOW_RUN_RETENTION_DAYS;
  for (const [table, days] of [
    [ROWS, rowRetentionDays(settings)],
    [STEPS, runDays],
    [RUNS, runDays],
    [FACTS, FACT_DAYS],
  ] as const) {
    const cutoff = today - days * DAY_MS;
    const dropped = await dropDays(db, table, { cutoff, kept: table === FACTS ? [] : kept });
    sum = {
      days: sum.days + dropped.days,
      rows: sum.rows + dropped.rows,
      isDone: sum.isDone && dropped.isDone,
    };
  }
  return sum;
}

/** The days of queued and running runs, which still need all that they have. */
async function activeDays(db: Db): Promise<readonly number[]> {
  const days = await db.selectDistinct({ day: activeRuns.day }).from(activeRuns);
  return days.map(({ day }) => Date.parse(`${day}T00:00:00Z`));
}
