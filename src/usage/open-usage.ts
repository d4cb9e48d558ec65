import type { Part } from "../core/part.ts";
import type { ErrorCode } from "../core/service-error.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import { inFolderOf } from "../lib/folders/start-refusal.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import type { Limits } from "../limits/limits.ts";
import { type OpenUsageJournal, openUsageJournal } from "./journal/open-usage-journal.ts";
import { type DayFigures, readDayFigures } from "./reports/day-figures.ts";
import { createDailyReconciliation } from "./sums/daily-reconciliation.ts";
import { type LimitRefusals, openLimitRefusals } from "./sums/limit-refusals.ts";
import { openUsageUpkeep } from "./sums/usage-upkeep.ts";
import { usageMetrics } from "./usage-metrics.ts";

export interface Usage extends Part<Db> {
  readonly journal: OpenUsageJournal;
  readonly refusals: Pick<LimitRefusals, "count" | "flush">;
}

/** The error codes of calls that a limit of their key refused. */
const LIMIT_CODES = [
  "rate_limit_exceeded",
  "request_limit_exceeded",
  "token_limit_exceeded",
  "monthly_limit_exceeded",
] as const satisfies readonly ErrorCode[];

/**
 * Opens the journal of this process and maintains the usage tables.
 * @param limits count the usage of lost processes.
 */
export async function openUsage(
  base: Base,
  limits: Pick<Limits, "settleLost" | "recount">,
): Promise<Usage> {
  const { settings } = base;
  const upkeep = await openUsageUpkeep(base);
  const reconciliation = createDailyReconciliation(base);
  const stored = openLimitRefusals({ ...base, db: base.database.db });
  const journalSetting = settings.JOURNAL_DIR === undefined ? "DATA_DIR" : "JOURNAL_DIR";
  const journal = await inFolderOf(journalSetting, () => openUsageJournal(base, limits));
  const refused = zeroCounts<ErrorCode>(LIMIT_CODES);
  let day: DayFigures | undefined;
  return {
    journal,
    refusals: {
      count(refusal) {
        if (refusal.code in refused) refused[refusal.code] += 1;
        stored.count(refusal);
      },
      flush: stored.flush,
    },
    jobs: [
      { name: "count refusals", pauseMs: 5_000, run: stored.flush },
      { name: "keep usage", pauseMs: 60_000, run: upkeep.run },
      // Each day is compared soon after its end, and again as long as it differs.
      {
        name: "reconcile usage",
        pauseMs: 3_600_000,
        firstMs: 300_000,
        run: reconciliation.run,
      },
    ],
    metrics: usageMetrics({
      day: () => day,
      journal,
      purges: upkeep.figures,
      reconciliation: reconciliation.figures,
      refusals: refused,
    }),
    async refreshStored(db, now) {
      day = await readDayFigures(db, now);
    },
    // A full disk does not stop calls as long as the journal has room.
    checks: { db: journal.canRecord },
    async close(limitMs) {
      await Promise.all([journal.drain(limitMs), stored.close(limitMs)]);
    },
  };
}
