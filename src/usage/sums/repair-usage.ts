import { sql } from "drizzle-orm";
import type { Access } from "../../access/access.ts";
import type { AnyActor } from "../../access/actor.ts";
import { recordAudit } from "../../access/audit/record-audit.ts";
import { confirmActor } from "../../access/confirm-actor.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { dayOf } from "../../db/days/day-table.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { usageRecords } from "../../db/tables/usage.ts";
import type { UsageReading } from "../reports/read-usage-report.ts";
import type { TimeRange } from "../reports/search-newest-first.ts";
import { compareSums, isOfPeriod, sourceOf } from "./compare-sums.ts";
import { comparableRange, monthsOf, storedTime } from "./reconcile-usage.ts";
import { listUsageDays } from "./usage-days.ts";
import {
  DAYS,
  HOURS,
  insertSums,
  MODEL_HOURS,
  MONTHS,
  selectSums,
  type UsageSums,
} from "./usage-sums.ts";

/** The result of a repair. */
export interface UsageRepair extends TimeRange {
  /** Hours, days and months that had wrong sums. */
  readonly hours: number;
  readonly days: number;
  readonly months: number;
  /**
   * Number of wrong sums: of an hour or day, key, model and channel, of an hour, model and channel, or of a month and
   * key.
   */
  readonly repaired: number;
}

type Repairing = UsageReading & Pick<Access, "database">;

/**
 * Rebuilds the wrong hours of a range from their rows, and then the wrong days and months from their hours. Only past
 * hours whose rows are all retained are rebuilt, and only days and months whose retained hours the range covers. Each
 * hour, day and month has its own transaction and audit entry.
 */
export async function repairUsage(
  reading: Repairing,
  actor: AnyActor,
  asked: TimeRange,
): Promise<UsageRepair> {
  const { ask } = reading.database;
  const { hours, days, ...range } = await storedTime({ ...reading, ask }, asked);
  const comparable = comparableRange(reading, { from: 0, to: reading.clock.now() });
  const isCovered = ({ from, to }: TimeRange) =>
    asked.from <= Math.max(from, comparable.from) && range.to >= Math.min(to, comparable.to);
  const hoursDone = await repairEach(reading, actor, {
    first: HOURS,
    others: [MODEL_HOURS],
    periods: hours,
  });
  const daysDone = await repairEach(reading, actor, {
    first: DAYS,
    others: [],
    periods: days.filter(isCovered),
  });
  const monthsDone = await repairEach(reading, actor, {
    first: MONTHS,
    others: [],
    periods: monthsOf(range).filter(isCovered),
  });
  return {
    ...range,
    hours: hoursDone.periods,
    days: daysDone.periods,
    months: monthsDone.periods,
    repaired: hoursDone.sums + daysDone.sums + monthsDone.sums,
  };
}

interface Work extends Pick<Rebuild, "first" | "others"> {
  readonly periods: readonly TimeRange[];
}

async function repairEach(
  reading: Repairing,
  actor: AnyActor,
  { first, others, periods }: Work,
): Promise<{ readonly periods: number; readonly sums: number }> {
  const done = { periods: 0, sums: 0 };
  for (const period of periods) {
    const { wrong, isWrong } = await reading.database.ask(async (db) => {
      const wrong = await countWrong(db, first, period);
      let isWrong = wrong > 0;
      for (const sums of others) isWrong ||= (await countWrong(db, sums, period)) > 0;
      return { wrong, isWrong };
    });
    if (!isWrong) continue;
    done.sums += await rebuildPeriod(reading, actor, { first, others, wrong, period });
    done.periods += 1;
  }
  return done;
}

/** The sums of a period that are rebuilt. */
interface Rebuild {
  readonly first: UsageSums;
  /** Sums made from the previous ones. */
  readonly others: readonly UsageSums[];
  /** Number of the first sums that were wrong when they were compared. They are not compared again under the lock. */
  readonly wrong: number;
  readonly period: TimeRange;
}

/**
 * Rebuilds the sums of one period under two locks. The first lock keeps days from being dropped or folded in the
 * meantime. The second is needed first by every statement that adds to sums: usage arrives before the rebuild or after
 * it, and nothing can deadlock. Such statements wait, with their records in the journal, while one period is
 * aggregated. Both locks come first, because a statement sees only what was committed when it began.
 */
async function rebuildPeriod(
  { database, clock }: Repairing,
  actor: AnyActor,
  rebuild: Rebuild,
): Promise<number> {
  const { first, period } = rebuild;
  const text = new Date(period.from).toISOString();
  // A caller that has stopped waiting must not let the next repair start beside this one.
  let ended: Promise<unknown> | undefined;
  const work = (db: Db) =>
    withTransaction(db, async (transaction) => {
      await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.usageUpkeep})`);
      await transaction.execute(sql`lock table only ${usageRecords} in share row exclusive mode`);
      await confirmActor(transaction, { clock }, actor);
      const repaired = await rebuildSums(transaction, rebuild);
      await recordAudit(transaction, actor, {
        action: "usage.repair",
        targetKind: "usage",
        targetId: first.kind === "hour" ? text : text.slice(0, first.kind === "day" ? 10 : 7),
        details: { sums: repaired },
      });
      return repaired;
    });
  try {
    return await database.ask((db) => {
      const running = work(db);
      ended = running.catch(() => undefined);
      return running;
    });
  } finally {
    await ended;
  }
}

/** Returns the number of sums that were wrong. */
async function rebuildSums(
  transaction: Db,
  { first, others, wrong, period }: Rebuild,
): Promise<number> {
  // Rows may have been dropped at midnight since the comparison; the sums are then the only data left.
  const isRetained = async () => (await listUsageDays(transaction)).includes(dayOf(period.from));
  if (first.kind === "hour" && !(await isRetained())) return 0;
  if (wrong > 0) await replaceSums(transaction, first, period);
  let repaired = wrong;
  for (const sums of others) {
    const count = await countWrong(transaction, sums, period);
    if (count > 0) await replaceSums(transaction, sums, period);
    repaired += count;
  }
  return repaired;
}

async function replaceSums(transaction: Db, sums: UsageSums, period: TimeRange): Promise<void> {
  await transaction.execute(sql`delete from ${sums.table} where ${isOfPeriod(sums, period)}`);
  await transaction.execute(insertSums(sums, selectSums(sums, sourceOf(sums, period))));
}

async function countWrong(db: Db, sums: UsageSums, period: TimeRange): Promise<number> {
  return (await compareSums(db, sums, { period, limit: 1 })).mismatches;
}
