import { sql, TransactionRollbackError } from "drizzle-orm";
import { afterAll, expect, test, vi } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import { DAY_MS } from "../../../src/db/days/day-table.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { dayTable } from "../../../src/usage/sums/usage-days.ts";
import { endRestoredRuns } from "../../../src/workflows/runs/end/end-restored-runs.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { createDatabase } from "../../support/servers/databases/test-database.ts";
import {
  backUp,
  createBackupStage,
  type Environment,
  makeInstallation,
  makeInstallationWith,
  readTables,
  restore,
  storeKinds,
  withDatabase,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());

/** Each takes several locks to be read and more to be made: of days as of datasets, more than such a server has room for. */
const DAYS = 80;
const DATASETS = 140;
/** Rows of so many days are inserted by one transaction. */
const DAYS_OF_USAGE = 50;
const SMALL_SERVER = { maxConnections: 10, maxLocks: 16 };
/** Tables that one transaction makes. */
const STEP = 10;
/** Locks of relations that the end of the runs may take: of tables that stay, and of one day. */
const FEW_LOCKS = 50;
const FIRST_DAY = Date.UTC(2025, 0, 1);

/** The last of many days has a run that is queued. The first ones have usage, as has a day without a partition. */
async function addDays(db: Db): Promise<void> {
  for (let day = 0; day < DAYS; day += STEP) {
    await db.execute(
      sql.raw(`
      do $$ begin
        for i in ${day}..${day + STEP - 1} loop
          execute format('create table usage_records_%s partition of usage_records for values from (%L) to (%L)',
            to_char(date '2025-01-01' + i, 'YYYYMMDD'), (date '2025-01-01' + i) || ' 00:00Z', (date '2025-01-01' + i + 1) || ' 00:00Z');
          execute format('create table workflow_runs_%s partition of workflow_runs for values from (%L) to (%L)',
            to_char(date '2025-01-01' + i, 'YYYYMMDD'), date '2025-01-01' + i, date '2025-01-01' + i + 1);
          execute format('create table workflow_steps_%s partition of workflow_steps for values from (%L) to (%L)',
            to_char(date '2025-01-01' + i, 'YYYYMMDD'), date '2025-01-01' + i, date '2025-01-01' + i + 1);
        end loop;
      end $$`),
    );
    if (day < DAYS_OF_USAGE) await addUsage(db, day, day + STEP - 1);
  }
  await addUsage(db, DAYS, DAYS);
  const statements = [
    "insert into workflows (id, name, definition) values ('wf_1', 'a', '{}')",
    "insert into workflow_queues (workflow_id, last_number, queued) values ('wf_1', 1, 1)",
    `insert into workflow_runs (id, day, workflow_id, workflow_name, version, status, number, trigger, rows_received, queued_at)
    values ('run_1', ${LAST_DAY}, 'wf_1', 'a', 1, 'queued', 1, '{}', 0, ${LAST_DAY})`,
    `insert into workflow_active_runs (run_id, day, workflow_id, status, number, trigger_key, queued_at, timeout_seconds)
    values ('run_1', ${LAST_DAY}, 'wf_1', 'queued', 1, 'manual', ${LAST_DAY}, 60)`,
  ];
  for (const statement of statements) await db.execute(sql.raw(statement));
}

/** A call on each of these days. */
async function addUsage(db: Db, first: number, last: number): Promise<void> {
  await db.execute(
    sql.raw(`
    insert into usage_records
    select 'req_' || i, timestamptz '2025-01-01 12:00:00+00' + i * interval '1 day', 'key', 'chat', 'm', 'ok', true, 200,
      1, 1, 0, 0, false, 1, 1, null
    from generate_series(${first}, ${last}) i`),
  );
}

const LAST_DAY = `date '2025-01-01' + ${DAYS - 1}`;

async function addDatasets(db: Db): Promise<void> {
  for (let first = 0; first < DATASETS; first += STEP) {
    await db.execute(
      sql.raw(`
      do $$ begin
        for i in ${first}..${first + STEP - 1} loop
          execute format('create table datasets.ds_%s (_load integer, _row bigint, _gone integer, n integer)', i);
          execute format('create index on datasets.ds_%s (_load, _row)', i);
          execute format('create unique index on datasets.ds_%s (n)', i);
          execute format('insert into datasets.ds_%s values (1, 1, null, %s)', i, i);
        end loop;
      end $$`),
    );
  }
  await db.execute(
    sql.raw(`
    insert into datasets (id, name, columns, key, table_name, rows, version)
    select 'ds_' || i, 'dataset ' || i, '[]', '["n"]', 'ds_' || i, 1, 1 from generate_series(0, ${DATASETS - 1}) i`),
  );
}

async function daysOf(db: Db): Promise<readonly object[]> {
  const rows = await db.execute(sql`
    select tableoid::regclass::text as partition, count(*)::int as rows from usage_records group by 1 order by 1`);
  return [...rows];
}

test("many days and datasets are backed up and restored by a PostgreSQL that has no room for the locks of all", async () => {
  const cluster = await startPostgresCluster(SMALL_SERVER);
  if (cluster === undefined) return;
  const newPlace = async (): Promise<Environment> => {
    const { url } = await createDatabase(cluster.url);
    return { ...(await stage.newPlace("embedded")), DATABASE_URL: url };
  };
  try {
    const source = await newPlace();
    await makeInstallationWith(source, 0, async ({ db }) => {
      await addDays(db);
      await addDatasets(db);
      expect(await locksOfEnding(db)).toBeLessThan(FEW_LOCKS);
    });
    const file = await backUp(source, stage.newFile());
    const target = await newPlace();
    // All tables are there, and the same restore drops them first.
    await expect(restore(target, file, interruptedAfter(Number.POSITIVE_INFINITY))).rejects.toThrow(
      "interrupted",
    );
    await restore(target, file);
    await withDatabase(target, async (db) => {
      const ofDay = (day: number) => dayTable(FIRST_DAY + day * DAY_MS);
      expect(await countRows(db, DAYS_OF_USAGE, ofDay)).toEqual([1]);
      expect(await countRows(db, DAYS, ofDay)).toEqual([1, 0]);
      expect(await countRows(db, DATASETS, (dataset) => `datasets.ds_${dataset}`)).toEqual([1]);
      const runs = sql.raw(`select status from workflow_runs where day = ${LAST_DAY}`);
      expect([...(await db.execute(runs))]).toEqual([{ status: "stopped" }]);
      const indexes = sql`select count(*)::int as indexes from pg_indexes where schemaname = 'datasets'`;
      expect([...(await db.execute(indexes))]).toEqual([{ indexes: 2 * DATASETS }]);
    });
  } finally {
    await cluster.remove();
  }
});

/** How many tables and indexes the ending of restored runs locks. It is undone. */
async function locksOfEnding(db: Db): Promise<number> {
  let locks = Number.POSITIVE_INFINITY;
  await db
    .transaction(async (transaction) => {
      await endRestoredRuns(transaction, FIRST_DAY);
      const [row] = await transaction.execute<{ locks: number }>(sql`
        select count(distinct relation)::int as locks from pg_locks where pid = pg_backend_pid() and locktype = 'relation'`);
      locks = row?.locks ?? locks;
      transaction.rollback();
    })
    .catch((thrown: unknown) => {
      if (!(thrown instanceof TransactionRollbackError)) throw thrown;
    });
  return locks;
}

/** The different numbers of rows that these tables have, read one after the other. */
async function countRows(
  db: Db,
  tables: number,
  nameOf: (index: number) => string,
): Promise<readonly number[]> {
  const counts = new Set<number>();
  for (let index = 0; index < tables; index += 1) {
    const [row] = await db.execute<{ rows: number }>(
      sql.raw(`select count(*)::int as rows from ${nameOf(index)}`),
    );
    counts.add(row?.rows ?? 0);
  }
  return [...counts];
}

test.each(storeKinds)(
  "what an interrupted restore leaves in the %s database never starts, and the same restore begins anew",
  async (kind) => {
    const source = await stage.newPlace(kind);
    await makeInstallation(source, 3_000);
    const file = await backUp(source, stage.newFile());
    const target = await stage.newPlace(kind);
    for (const [index, parts] of [3, Number.POSITIVE_INFINITY].entries()) {
      await expect(restore(target, file, interruptedAfter(parts))).rejects.toThrow(
        /interrupted|damaged/,
      );
      await withDatabase(target, async (db) => {
        await expect(migrate({ db }), `interruption ${index}`).rejects.toThrow(
          /A restore into the database was not finished/,
        );
      });
    }
    await restore(target, file);
    expect(await readTables(target)).toEqual(await readTables(source));
    const ofDays = (place: Environment) => withDatabase(place, daysOf);
    expect(await ofDays(target)).toEqual(await ofDays(source));
    await withDatabase(target, (db) => migrate({ db }));
  },
);

/** Ends a restore after so many parts of its file, or, when it has read all, before its last transaction. */
function interruptedAfter(parts: number) {
  let read = 0;
  const interrupt = () => {
    throw new Error("interrupted");
  };
  return {
    onRead(part: "checking" | "loading") {
      if (part === "loading" && ++read > parts) interrupt();
    },
    limit: {
      tick: () => undefined,
      allow: interrupt,
      hold: <Result>(work: Promise<Result>) => work,
    },
  };
}
