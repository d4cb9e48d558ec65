import { sql } from "drizzle-orm";
import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { isUnavailable, toDatabaseError } from "../../db/database-error.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import { isReachedDay } from "../../db/days/reached-day.ts";
import { journalCheckpoints, latencyHours, usageSlots } from "../../db/tables/usage.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { SESSION_WRITER } from "../../limits/session-tokens.ts";
import { STATEMENT_TIMED_OUT } from "../reports/statement-timeout.ts";
import { dropUsageDays } from "./drop-usage-days.ts";
import { foldModelHours, foldRefusalHours, foldUsageHours } from "./fold-usage-hours.ts";
import { REFUSAL_WRITER } from "./limit-refusals.ts";
import { firstKeptDay, makeUsageDays, USAGE_RECORDS } from "./usage-days.ts";

/** The purges of this process. Replicas take turns, so each reports only a part. */
export interface PurgeFigures {
  /** When the last complete purge ended, in Unix milliseconds; undefined before the first. */
  readonly lastPurgeAt: number | undefined;
  readonly droppedDays: number;
  /** Includes the rows of dropped days. */
  readonly droppedRows: number;
}

export interface UsageUpkeep {
  readonly figures: () => PurgeFigures;
  /**
   * Does what is due: creates the coming days' partitions and drops what is older than USAGE_RETENTION_DAYS, once an
   * hour and soon after midnight UTC. Between these times it costs nothing. Rejects when the database refuses or
   * cancels a statement; an unavailable database is retried later without an error.
   */
  readonly run: () => Promise<void>;
}

export interface UsageUpkeepOptions {
  readonly settings: Pick<Settings, "USAGE_RETENTION_DAYS">;
  readonly database: Pick<Database, "db">;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 60 * 60_000;
/** The figures of a day need the hours and the slots of the last one. */
const FIGURES_MS = 2 * DAY_MS;
/** Longer than any batch of refusals or tokens could be retried. */
const WRITERS_KEPT = "7 days";

/**
 * Keeps the usage tables bounded, however long the service runs. Creates the partitions of the coming days at once and
 * retries on failure; rows whose day has no partition are kept with those of other days.
 */
export async function openUsageUpkeep(options: UsageUpkeepOptions): Promise<UsageUpkeep> {
  const { database, clock, log } = options;
  await makeUsageDays(database.db, clock.now()).catch((thrown: unknown) => {
    const cause = toDatabaseError(thrown).message;
    log.warn(
      { cause },
      "the usage partitions of the coming days could not be created; this will be retried",
    );
  });
  return createUsageUpkeep(options);
}

function createUsageUpkeep({ settings, database, clock, log }: UsageUpkeepOptions): UsageUpkeep {
  const { db } = database;
  let figures: PurgeFigures = { lastPurgeAt: undefined, droppedDays: 0, droppedRows: 0 };
  /** The UTC day for which everything is done until `dueAt`, by the process's own clock. */
  let doneFor: number | undefined;
  let dueAt = 0;

  const waitForNext = (today: number) => {
    doneFor = today;
    dueAt = performance.now() + INTERVAL_MS;
  };
  const purge = async (today: number): Promise<boolean> => {
    const cutoff = firstKeptDay(today, settings.USAGE_RETENTION_DAYS);
    const { days, rows, isDone } = await dropUsageDays(db, cutoff);
    figures = {
      ...figures,
      droppedDays: figures.droppedDays + days,
      droppedRows: figures.droppedRows + rows,
    };
    if (days > 0 || rows > 0) log.info({ days, rows }, "dropped usage that is past its retention");
    await deleteOldFigures(db, today);
    const isFolded =
      (await foldUsageHours(db, cutoff)) &&
      (await foldModelHours(db, cutoff)) &&
      (await foldRefusalHours(db, cutoff));
    return isFolded && isDone;
  };
  const runFor = async (today: number): Promise<void> => {
    const isReady = await makeUsageDays(db, clock.now());
    const isReached = await isReachedDay(db, USAGE_RECORDS, today);
    if (!isReached)
      log.warn(
        { day: new Date(today).toISOString().slice(0, 10) },
        "the clock is more than 31 days after the last day on which the gateway ran, so nothing that is past its " +
          "retention is dropped before it has run for two days. If the time is wrong, set the clock",
      );
    const isPurged = isReached && (await purge(today));
    if (isPurged) figures = { ...figures, lastPurgeAt: clock.now() };
    // The rest, blocked by a reader or by another replica, is retried with the next run.
    if (isReady && (isPurged || !isReached)) waitForNext(today);
  };

  return {
    figures: () => figures,
    async run() {
      const today = dayOf(clock.now());
      if (today === doneFor && performance.now() < dueAt) return;
      try {
        await runFor(today);
      } catch (thrown) {
        const error = toDatabaseError(thrown);
        // A cancelled statement would take as long the next time.
        if (isUnavailable(error) && error.code !== STATEMENT_TIMED_OUT) return;
        // A permanent failure would repeat every minute; it is logged once an hour.
        waitForNext(today);
        throw error;
      }
    },
  };
}

async function deleteOldFigures(db: Db, today: number): Promise<void> {
  const before = new Date(today - FIGURES_MS).toISOString();
  // A row that a late call is adding to is deleted the next time: waiting for it in any order other than the journal's
  // could deadlock.
  for (const [table, time] of [
    [usageSlots, sql`slot`],
    [latencyHours, sql`hour`],
  ] as const)
    await db.execute(sql`
      with old as (select ctid from ${table} where ${time} < ${before} for update skip locked)
      delete from ${table} using old where ${table}.ctid = old.ctid`);
  // Checkpoints of processes that ended without removing them.
  await db.execute(sql`
    delete from ${journalCheckpoints}
    where journal like any (array[${`${REFUSAL_WRITER}%`}, ${`${SESSION_WRITER}%`}]) and updated_at < now() - ${WRITERS_KEPT}::interval`);
}
