import type { Settings } from "../../config/settings.ts";
import type { Database } from "../../db/database.ts";
import { DAY_MS, dayOf } from "../../db/days/day-table.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { reconcileUsage } from "./reconcile-usage.ts";

/** Missed days, as by a failed job, are compared later, up to this many. */
const DAYS_MAX = 7;
/** Enough in a log line to locate the problem; the report has the rest. */
const LOGGED_MAX = 5;

export interface ReconciliationFigures {
  /** When the last run ended, in Unix milliseconds; null before the first run of this process. */
  readonly lastRunAt: number | null;
  /** Differences it found, including earlier ones that are not repaired. */
  readonly mismatches: number;
}

/** Compares each UTC day with its rows after its end. */
export interface DailyReconciliation {
  /**
   * Compares the days that have ended and were not compared; of those before the start only the last. All days since
   * the first that differed are compared again until they agree.
   */
  readonly run: () => Promise<void>;
  readonly figures: () => ReconciliationFigures;
}

export interface DailyReconciliationOptions {
  readonly database: Pick<Database, "db">;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Pick<Settings, "USAGE_RETENTION_DAYS">;
}

export function createDailyReconciliation(
  options: DailyReconciliationOptions,
): DailyReconciliation {
  const { database, clock, log, settings } = options;
  const retentionDays = settings.USAGE_RETENTION_DAYS;
  let figures: ReconciliationFigures = { lastRunAt: null, mismatches: 0 };
  let doneTo: number | undefined;
  let differsFrom: number | undefined;
  return {
    figures: () => figures,
    async run() {
      const to = dayOf(clock.now());
      const newFrom = Math.max(doneTo ?? to - DAY_MS, to - DAYS_MAX * DAY_MS);
      const from = Math.min(newFrom, differsFrom ?? newFrom);
      if (from >= to) return;
      const reading = { clock, retentionDays, ask: <R>(work: AskWork<R>) => work(database.db) };
      const found = await reconcileUsage(reading, { from, to });
      const isNews = newFrom < to || found.mismatches !== figures.mismatches;
      doneTo = Math.max(to, doneTo ?? to);
      differsFrom = found.mismatches > 0 ? from : undefined;
      figures = { lastRunAt: clock.now(), mismatches: found.mismatches };
      if (!isNews) return;
      const range = {
        from: new Date(found.from).toISOString(),
        to: new Date(found.to).toISOString(),
      };
      const { mismatches, hours } = found;
      if (mismatches === 0) log.debug({ ...range, hours }, "usage sums match their rows");
      else {
        const differences = found.differences.slice(0, LOGGED_MAX);
        log.error(
          { ...range, hours, mismatches, differences },
          "usage sums differ from their rows; see /api/usage/reconciliation",
        );
      }
    },
  };
}

type AskWork<Result> = (db: Database["db"]) => Promise<Result>;
