import { type SQL, sql } from "drizzle-orm";
import type { Access } from "../../access/access.ts";
import type { SessionActor } from "../../access/actor.ts";
import { recordAudit } from "../../access/audit/record-audit.ts";
import { confirmActor } from "../../access/confirm-actor.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-lock.ts";
import { modelHours, usageDays, usageHours, usageMonths } from "../../db/tables/usage.ts";
import type { UsageReading } from "../reports/read-usage-report.ts";
import type { TimeRange } from "../reports/search-backwards.ts";
import { compareDay, compareHour, compareModelHour, compareMonth } from "./compare-usage.ts";
import { comparableRange, monthsOf, storedTime } from "./reconcile-usage.ts";
import { dayOf, listUsageDays } from "./usage-days.ts";
import {
  dayDifferences,
  hourDifferences,
  MONTH_FIGURES,
  modelHourDifferences,
  monthDifferences,
} from "./usage-differences.ts";
import { addFigures, eachFigure, HOUR_FIGURES } from "./usage-figures.ts";

/** What was set right. */
export interface UsageRepair extends TimeRange {
  /** Hours, days and months that had wrong sums. */
  readonly hours: number;
  readonly days: number;
  readonly months: number;
  /** Sums, of an hour or day, key, model and channel, of an hour, model and channel or of a month and key, that were wrong. */
  readonly repaired: number;
}

/** The sums by hour, each made from the ones before it: how they are compared and set right. */
const HOUR_SUMS = [
  { compare: compareHour, repair: repairHour },
  { compare: compareModelHour, repair: repairModelHour },
] as const;

/**
 * Sets the sums by hour of a range right from its rows, and those over all keys from these, for hours that are over and
 * whose rows are all kept; and then from their hours the days and months that the range covers, as far as they are over
 * and their rows are kept: of others the hours may be wrong themselves. Each hour with wrong sums of keys or over all
 * keys, day and month is a transaction of its own with its audit entry: none holds locks on two tables of sums, so none
 * can wait in a circle with those that write all of them.
 */
export async function repairUsage(
  reading: UsageReading & Pick<Access, "database">,
  actor: SessionActor,
  asked: TimeRange,
): Promise<UsageRepair> {
  const { ask } = reading.database;
  const { hours, days, ...range } = await storedTime({ ...reading, ask }, asked);
  const done = { hours: 0, days: 0, months: 0, repaired: 0 };
  for (const hour of hours) {
    const name = new Date(hour.from).toISOString();
    let isWrong = false;
    for (const sums of HOUR_SUMS) {
      if ((await sums.compare(ask, hour, 1)).mismatches === 0) continue;
      done.repaired += await repair(reading, actor, { name, work: (tx) => sums.repair(tx, hour) });
      isWrong = true;
    }
    if (isWrong) done.hours += 1;
  }
  const comparable = comparableRange(reading, { from: 0, to: reading.clock.now() });
  const isCovered = ({ from, to }: TimeRange) =>
    asked.from <= Math.max(from, comparable.from) && range.to >= Math.min(to, comparable.to);
  for (const day of days.filter(isCovered)) {
    if ((await compareDay(ask, day, 1)).mismatches === 0) continue;
    const name = new Date(day.from).toISOString().slice(0, 10);
    done.repaired += await repair(reading, actor, { name, work: (tx) => repairDay(tx, day) });
    done.days += 1;
  }
  for (const month of monthsOf(range).filter(isCovered)) {
    if ((await compareMonth(ask, month, 1)).mismatches === 0) continue;
    const name = new Date(month.from).toISOString().slice(0, 7);
    done.repaired += await repair(reading, actor, { name, work: (tx) => repairMonth(tx, month) });
    done.months += 1;
  }
  return { ...range, ...done };
}

interface Part {
  /** Of the hour or month, for the audit log. */
  readonly name: string;
  readonly work: (transaction: Db) => Promise<number>;
}

/** One at a time, and never while days are dropped and folded. The lock comes first: what follows sees what it waited for. */
function repair(
  { database, clock }: Pick<UsageReading, "database" | "clock">,
  actor: SessionActor,
  { name, work }: Part,
): Promise<number> {
  return database.ask((db) =>
    withTransaction(db, async (transaction) => {
      await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.usageUpkeep})`);
      await confirmActor(transaction, { clock }, actor);
      const repaired = await work(transaction);
      await recordAudit(transaction, actor, {
        action: "usage.repair",
        targetKind: "usage",
        targetId: name,
        details: { sums: repaired },
      });
      return repaired;
    }),
  );
}

/** A table of sums by hour. */
interface HourSums {
  readonly table: typeof usageHours | typeof modelHours;
  readonly keys: SQL;
  /** The part of a statement that finds its differences. */
  readonly found: SQL;
}

function repairHour(transaction: Db, hour: TimeRange): Promise<number> {
  const keys = sql`hour, key_id, model, channel`;
  return addToHour(transaction, hour, { table: usageHours, keys, found: hourDifferences(hour) });
}

function repairModelHour(transaction: Db, hour: TimeRange): Promise<number> {
  const keys = sql`hour, model, channel`;
  const found = modelHourDifferences(hour);
  return addToHour(transaction, hour, { table: modelHours, keys, found });
}

/**
 * What is missing is added, and what is too much taken away: whatever a flush adds meanwhile stays added, for its rows
 * are not among those that were counted.
 */
async function addToHour(
  transaction: Db,
  hour: TimeRange,
  { table, keys, found }: HourSums,
): Promise<number> {
  // Midnight may have come since the range was taken, and have dropped the rows: then the sums are all that is left.
  if (!(await listUsageDays(transaction)).includes(dayOf(hour.from))) return 0;
  const repaired = await transaction.execute(sql`
    with ${found}
    insert into ${table} as present (${keys}, ${namesOf(HOUR_FIGURES)})
    select ${keys}, ${missingOf(HOUR_FIGURES)} from differences order by ${keys}
    on conflict (${keys}) do update set ${addFigures(HOUR_FIGURES)}
    returning 1`);
  const [from, to] = [hour.from, hour.to].map((time) => new Date(time).toISOString());
  await transaction.execute(sql`
    delete from ${table}
    where hour >= ${from}::timestamptz and hour < ${to}::timestamptz and requests = 0`);
  return repaired.length;
}

async function repairDay(transaction: Db, day: TimeRange): Promise<number> {
  const keys = sql`day, key_id, model, channel`;
  const repaired = await transaction.execute(sql`
    with ${dayDifferences(day)}
    insert into ${usageDays} as present (${keys}, ${namesOf(HOUR_FIGURES)})
    select ${keys}, ${missingOf(HOUR_FIGURES)} from differences order by ${keys}
    on conflict (${keys}) do update set ${addFigures(HOUR_FIGURES)}
    returning 1`);
  await transaction.execute(sql`
    delete from ${usageDays}
    where day = ${new Date(day.from).toISOString()}::timestamptz and requests = 0`);
  return repaired.length;
}

async function repairMonth(transaction: Db, month: TimeRange): Promise<number> {
  const day = new Date(month.from).toISOString().slice(0, 10);
  const repaired = await transaction.execute(sql`
    with ${monthDifferences(month)}
    insert into ${usageMonths} as present (key_id, month, ${namesOf(MONTH_FIGURES)})
    select key_id, ${day}::date, ${missingOf(MONTH_FIGURES)} from differences order by key_id
    on conflict (key_id, month) do update set ${addFigures(MONTH_FIGURES)}
    returning 1`);
  return repaired.length;
}

const namesOf = (figures: readonly string[]): SQL => eachFigure(figures, (column) => column);

const missingOf = (figures: readonly string[]): SQL =>
  eachFigure(
    figures,
    (_, name) => sql`${sql.identifier(`counted_${name}`)} - ${sql.identifier(`stored_${name}`)}`,
  );
