import { and, desc, eq, getTableColumns, gte, lt, sql } from "drizzle-orm";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { DAY_MS, type DayTable, dayOf } from "../../db/days/day-table.ts";
import { dropDays } from "../../db/days/drop-days.ts";
import { makeDays } from "../../db/days/make-days.ts";
import { isReachedDay } from "../../db/days/reached-day.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { biStatements } from "../../db/tables/bi-keys.ts";
import { randomBase62 } from "../../lib/id.ts";
import { causeOf } from "../../lib/log.ts";
import { repeat } from "../../lib/time/repeat.ts";
import type { Statement } from "../process/process-messages.ts";

export type StatementLine = Omit<typeof biStatements.$inferSelect, "day">;

export interface StatementQuery {
  readonly principalId?: string | undefined;
  readonly outcome?: StatementLine["outcome"] | undefined;
  /** The start of the range, included. */
  readonly from?: Date | undefined;
  /** The end of the range, excluded. */
  readonly to?: Date | undefined;
  /** The id of a line; only earlier ones are returned. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** What was asked with BI keys and sessions, without values. */
export interface StatementLog {
  /** Takes a line; it is written within seconds. */
  readonly note: (statement: Statement) => void;
  /** Newest first, one more than `limit` where there are further ones. */
  readonly list: (query: StatementQuery) => Promise<readonly StatementLine[]>;
  /** Creates the days to come and drops those past their time. */
  readonly keepDays: () => Promise<void>;
  /** Writes what was noted. Never rejects. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const STATEMENTS: DayTable = {
  name: "bi_statements",
  column: "day",
  lock: ADVISORY_LOCK.statementUpkeep,
  movedRowsMax: 100_000,
};
const KEPT_DAYS = 30;
const WRITE_PAUSE_MS = 2_000;
/** More lines than this wait for a database that does not take them: the oldest are dropped. */
const WAITING_MAX = 10_000;
const BATCH_ROWS = 500;
const ID_LENGTH = 22;

export function openStatementLog({ database, clock, log }: Base): StatementLog {
  let waiting: (typeof biStatements.$inferInsert)[] = [];
  let dropped = 0;
  const write = async (): Promise<void> => {
    for (let batch = waiting.slice(0, BATCH_ROWS); batch.length > 0; ) {
      const rows = batch;
      await database.askOwn((db) => db.insert(biStatements).values(rows).onConflictDoNothing());
      const written = new Set(rows);
      waiting = waiting.filter((line) => !written.has(line));
      batch = waiting.slice(0, BATCH_ROWS);
    }
    if (dropped > 0) log.warn({ lines: dropped }, "statements of BI keys were not written");
    dropped = 0;
  };
  const flush = () =>
    write().catch((thrown: unknown) => {
      log.warn({ cause: causeOf(thrown) }, "the statements of BI keys are written later");
    });
  const writing = repeat(WRITE_PAUSE_MS, flush);
  return {
    note(statement) {
      waiting.push(toRow(statement));
      if (waiting.length <= WAITING_MAX) return;
      waiting.shift();
      dropped += 1;
    },
    list: (query) => database.ask((db) => listStatements(db, query)),
    async keepDays() {
      const [{ db }, now] = [database, clock.now()];
      const today = dayOf(now);
      await makeDays(db, STATEMENTS, now);
      if (await isReachedDay(db, STATEMENTS, today))
        await dropDays(db, STATEMENTS, { cutoff: today - KEPT_DAYS * DAY_MS });
    },
    flush,
    async close() {
      writing.stop();
      await flush();
    },
  };
}

function toRow({ text, startedAt, ...statement }: Statement): typeof biStatements.$inferInsert {
  return {
    ...statement,
    id: `bis_${randomBase62(ID_LENGTH)}`,
    day: new Date(startedAt).toISOString().slice(0, 10),
    statement: text.replaceAll("\0", ""),
    startedAt: new Date(startedAt),
    milliseconds: Math.round(statement.milliseconds),
  };
}

function listStatements(db: Db, query: StatementQuery): Promise<readonly StatementLine[]> {
  const { principalId, outcome, from, to, before, limit } = query;
  const { day: _, ...columns } = getTableColumns(biStatements);
  const isEarlier =
    before === undefined
      ? undefined
      : sql`(${biStatements.startedAt}, ${biStatements.id}) <
          (select started_at, id from ${biStatements} as seen where seen.id = ${before})`;
  return db
    .select(columns)
    .from(biStatements)
    .where(
      and(
        principalId === undefined ? undefined : eq(biStatements.principalId, principalId),
        outcome === undefined ? undefined : eq(biStatements.outcome, outcome),
        from && gte(biStatements.startedAt, from),
        to && lt(biStatements.startedAt, to),
        isEarlier,
      ),
    )
    .orderBy(desc(biStatements.startedAt), desc(biStatements.id))
    .limit(limit + 1);
}
