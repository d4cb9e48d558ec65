import { sql } from "drizzle-orm";
import type { Job } from "../../core/part.ts";
import type { Db } from "../context.ts";

const FIRST_MS = 300_000;
const PAUSE_MS = 600_000;
/** A table is analyzed and vacuumed after so many changed rows, and so large a share of its rows: as a server does it. */
const LEAST_ROWS = 50;
const ANALYZED_SHARE = 0.1;
const VACUUMED_SHARE = 0.2;
/** 300 times as many rows are read, a tenth of what a server reads: 9,000 wide rows took 200 ms. */
const STATISTICS_TARGET = 10;

interface Table {
  /** As SQL names it. */
  readonly name: string;
  readonly columns: string;
  readonly rows: number;
  readonly deadRows: number;
  /** Rows inserted, changed and deleted so far. */
  readonly changes: number;
}

/**
 * Does the work of the autovacuum, which the embedded database does not have. There is one session for everything, so it
 * is done in short statements, with room for calls between them.
 */
export function tendTables(db: Db): Job {
  /** By table: its changes when it was analyzed last. */
  const analyzedAt = new Map<string, number>();
  return {
    name: "tend embedded tables",
    firstMs: FIRST_MS,
    pauseMs: PAUSE_MS,
    async run() {
      for (const table of await findTables(db)) {
        const { name, rows, deadRows, changes } = table;
        if (deadRows >= LEAST_ROWS + VACUUMED_SHARE * rows)
          await db.execute(sql.raw(`vacuum ${name}`));
        const known = analyzedAt.get(name) ?? 0;
        // The count begins again when the database's thread was replaced.
        const since = changes < known ? changes : changes - known;
        if (since < LEAST_ROWS + ANALYZED_SHARE * rows) continue;
        await analyze(db, table);
        analyzedAt.set(name, changes);
      }
    },
  };
}

/** Finds all tables with rows, without those columns whose analysis takes seconds: lists and indexed words. */
async function findTables(db: Db): Promise<readonly Table[]> {
  const tables = await db.execute<{ [Name in keyof Table]: Table[Name] }>(sql`
    select format('%I.%I', schemaname, relname) as name, n_live_tup::float8 as rows, n_dead_tup::float8 as "deadRows",
      (n_tup_ins + n_tup_upd + n_tup_del)::float8 as changes,
      (select string_agg(quote_ident(attname), ', ') from pg_attribute join pg_type on pg_type.oid = atttypid
        where attrelid = relid and attnum > 0 and not attisdropped and typanalyze::oid = 0) as columns
    from pg_stat_user_tables where n_live_tup > 0 or n_dead_tup > 0 order by n_live_tup`);
  return tables.filter(({ columns }) => columns !== null);
}

async function analyze(db: Db, { name, columns }: Table): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.execute(
      sql.raw(`set local default_statistics_target = ${STATISTICS_TARGET}`),
    );
    await transaction.execute(sql.raw(`analyze ${name} (${columns})`));
  });
}
