import { sql } from "drizzle-orm";
import { afterAll, expect, test, vi } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import { DAY_MS } from "../../../src/db/days/day-table.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { dayTable } from "../../../src/usage/sums/usage-days.ts";
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

/** Each takes six locks to be read and more to be made: together more than such a server has room for. */
const DAYS = 500;
const FIRST_DAY = Date.UTC(2025, 0, 1);
const FEW_CONNECTIONS = 10;

/** Usage of many days, one call each, and one of a day without a partition. */
async function addDays(db: Db): Promise<void> {
  for (let day = FIRST_DAY; day < FIRST_DAY + DAYS * DAY_MS; day += DAY_MS) {
    const [from, to] = [day, day + DAY_MS].map((at) => `'${new Date(at).toISOString()}'`);
    await db.execute(
      sql.raw(
        `create table ${dayTable(day)} partition of usage_records for values from (${from}) to (${to})`,
      ),
    );
  }
  await db.execute(
    sql.raw(`
    insert into usage_records
    select 'req_' || i, timestamptz '2025-01-01 12:00:00+00' + i * interval '1 day', 'key', 'chat', 'm', 'ok', true, 200,
      1, 1, 0, 0, false, 1, 1, null
    from generate_series(0, ${DAYS}) i`),
  );
}

async function daysOf(db: Db): Promise<readonly object[]> {
  const rows = await db.execute(sql`
    select tableoid::regclass::text as partition, count(*)::int as rows from usage_records group by 1 order by 1`);
  return [...rows];
}

test("years of days are backed up and restored by a PostgreSQL that has no room for the locks of all", async () => {
  const cluster = await startPostgresCluster({ maxConnections: FEW_CONNECTIONS });
  if (cluster === undefined) return;
  const newPlace = async (): Promise<Environment> => {
    const { url } = await createDatabase(cluster.url);
    return { ...(await stage.newPlace("embedded")), DATABASE_URL: url };
  };
  try {
    const source = await newPlace();
    await makeInstallationWith(source, 0, ({ db }) => addDays(db));
    const file = await backUp(source, stage.newFile());
    const target = await newPlace();
    await restore(target, file);
    const restored = await readDaysApart(target);
    expect(restored).toHaveLength(DAYS);
    expect(new Set(restored)).toEqual(new Set([1]));
  } finally {
    await cluster.remove();
  }
});

/** How many rows each day has, read one day after the other. */
function readDaysApart(place: Environment): Promise<readonly number[]> {
  return withDatabase(place, async (db) => {
    const counts: number[] = [];
    for (let day = FIRST_DAY; day < FIRST_DAY + DAYS * DAY_MS; day += DAY_MS) {
      const [row] = await db.execute<{ rows: number }>(
        sql.raw(`select count(*)::int as rows from ${dayTable(day)}`),
      );
      counts.push(row?.rows ?? 0);
    }
    return counts;
  });
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
