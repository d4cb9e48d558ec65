import { sql } from "drizzle-orm";
import type { Job } from "../../core/part.ts";
import type { Db } from "../context.ts";
import { toDatabaseError } from "../database-error.ts";

const FIRST_MS = 300_000;
const PAUSE_MS = 600_000;
/** A table is analyzed and vacuumed after so many changed rows, and so large a share of its rows: as a server does it. */
const LEAST_ROWS = 50;
const ANALYZED_SHARE = 0.1;
const VACUUMED_SHARE = 0.2;
/** A vacuum is one statement, for which all others wait: this much takes a tenth of a second. */
const VACUUMED_MAX_BYTES = 64 * 1024 * 1024;
/** The table was dropped after it was listed. */
const UNDEFINED_TABLE = "42P01";
/** 300 times as many rows are read, a tenth of what a server reads: 9,000 wide rows took 200 ms. */
const STATISTICS_TARGET = 10;

interface Table {
  /** As SQL names it. */
  readonly name: string;
  readonly columns: string;
  readonly rows: number;
  readonly bytes: number;
  readonly deadRows: number;
  /** Rows inserted, changed and deleted so far. */
  readonly changes: number;
}

/**
 * Does the work of the autovacuum, which the embedded database does not have. There is one session for everything, so it
 * is done a table at a time, with room for calls between them, and nothing large is vacuumed.
 */
export function tendTables(db: Db): Job {
  /** By table: its changes when it was analyzed last. */
  const analyzedAt = new Map<string, number>();
  const tend = async (table: Table): Promise<void> => {
    const { name, rows, bytes, deadRows, changes } = table;
    const isWorthIt = deadRows >= LEAST_ROWS + VACUUMED_SHARE * rows;
    if (isWorthIt && bytes <= VACUUMED_MAX_BYTES) await db.execute(sql.raw(`vacuum ${name}`));
    const known = analyzedAt.get(name) ?? 0;
    // The count begins again when the database's thread was replaced.
    const since = changes < known ? changes : changes - known;
    if (since < LEAST_ROWS + ANALYZED_SHARE * rows) return;
    await analyze(db, table);
    analyzedAt.set(name, changes);
  };
  return {
    name: "tend embedded tables",
    firstMs: FIRST_MS,
    pauseMs: PAUSE_MS,
    async run() {
      for (const table of await findTables(db)) {
        await tend(table).catch((thrown: unknown) => {
          if (toDatabaseError(thrown).code !== UNDEFINED_TABLE) throw thrown;
        });
      }
    },
  };
}

/** Finds all tables with rows, without those columns whose analysis takes seconds: lists and indexed words. */
async function findTables(db: Db): Promise<readonly Table[]> {
  const tables = await db.execute<{ [Name in keyof Table]: Table[Name] }>(sql`
    select format('%I.%I', schemaname, stats.relname) as name, pg_relation_size(relid)::float8 as bytes,
      -- The count of live rows begins again after a crash; the other one is of the last analysis.
      greatest(n_live_tup, reltuples, 0)::float8 as rows, n_dead_tup::float8 as "deadRows",
      (n_tup_ins + n_tup_upd + n_tup_del)::float8 as changes,
      (select string_agg(quote_ident(attname), ', ') from pg_attribute join pg_type on pg_type.oid = atttypid
        where attrelid = relid and attnum > 0 and not attisdropped and typanalyze::oid = 0) as columns
    from pg_stat_user_tables as stats join pg_class on pg_class.oid = relid
    where n_live_tup > 0 or n_dead_tup > 0 order by 3`);
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
