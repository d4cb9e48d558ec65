import { sql } from "drizzle-orm";
import type { Principal } from "../../src/data/principal.ts";
import { createStatement, defineRole } from "../../src/data/roles/role-definition.ts";
import { makeViews } from "../../src/data/views/make-views.ts";
import { connect } from "../../src/db/connect.ts";
import type { Db } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { dayOf } from "../../src/db/days/day-table.ts";
import { migrate } from "../../src/db/migrate.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { cpuSeconds } from "../load/measured-process.ts";
import { fillKeys, fillUsage } from "../usage/fill-usage.ts";

const READER = "bench_reader";
const PASSWORD = "bench";
/** Of two years: the sums by day outlive the requests. */
const EARLIER_DAYS = { from: 90, to: 630 } as const;

export const PRINCIPAL: Principal = {
  ...{ id: READER, name: READER, views: [], rowLimit: 100_000_000 },
  ...{ timeoutSeconds: 600, maxConnections: 10, expiresAt: null },
};

/** A database with the usage of two years. */
export interface DataStage {
  /** The gateway's own. */
  readonly db: Db;
  /** One connection with the settings and the rights of a key's role. */
  readonly reader: Database;
  readonly readerUrl: string;
  readonly close: () => Promise<void>;
}

/**
 * @param url of a database that keeps what it gets: it is filled only if it is empty. Without one, a server is started
 * and removed again.
 */
export async function openDataStage(url: string | undefined, rows: number): Promise<DataStage> {
  const cluster = url === undefined ? await startPostgresCluster() : undefined;
  const place = url ?? cluster?.url;
  if (place === undefined) throw new Error("this needs PostgreSQL");
  const database = open(place);
  const { db } = database;
  await migrate(database);
  await makeViews(database, { onViewMade: async () => undefined });
  if (await isEmpty(db)) {
    await fillUsage(db, dayOf(Date.now()), rows);
    await fillYears(db);
    await fillKeys(db);
  }
  await makeReader(db);
  const readerUrl = Object.assign(new URL(place), { username: READER, password: PASSWORD }).href;
  const reader = open(readerUrl);
  return {
    ...{ db, reader, readerUrl },
    async close() {
      await reader.close();
      await database.close();
      await cluster?.remove();
    },
  };
}

function open(url: string): Database {
  return connect({
    kind: "postgres",
    ...{ url, waitMs: 10_000, driver: { max: 1, idle_timeout: 60 } },
  });
}

async function isEmpty(db: Db): Promise<boolean> {
  const [found] = await db.execute(sql`select from usage_days limit 1`);
  return found === undefined;
}

async function fillYears(db: Db): Promise<void> {
  const { from, to } = EARLIER_DAYS;
  await db.execute(sql`
    insert into usage_days select day - ago * interval '24 hours', key_id, model, channel, requests, failures,
      rate_limited, aborted, latency_ms, input_tokens, output_tokens, cached_tokens, reasoning_tokens
    from usage_days, generate_series(${from}::int, ${to}::int, 90) as ago`);
  await db.execute(sql`vacuum analyze usage_days`);
}

/** As the gateway makes the role of a key. */
async function makeReader(db: Db): Promise<void> {
  const [found] = await db.execute(sql`select from pg_roles where rolname = ${READER}`);
  const statements = [
    ...(found === undefined ? [createStatement(READER)] : []),
    ...defineRole(PRINCIPAL, { role: READER, canLimitFiles: true }),
    `alter role ${READER} password '${PASSWORD}'`,
    `grant usage on schema data to ${READER}`,
    `grant select on all tables in schema data to ${READER}`,
  ];
  for (const statement of statements) await db.execute(sql.raw(statement));
}

export interface Timing {
  /** The median, of the second call on. */
  readonly medianMs: number;
  /** The server's own, a call: it hardly depends on what else runs on the machine. Not a number for one elsewhere. */
  readonly processorMs: number;
}

const CALLS = 9;
/** A slow one is no better the tenth time. */
const SLOW_MS = 2_000;

export async function measureQuery(db: Db, query: string): Promise<Timing> {
  const [found] = await db.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  const processorMs = () => {
    try {
      return cpuSeconds(found?.pid) * 1_000;
    } catch {
      return Number.NaN;
    }
  };
  await db.execute(sql.raw(query));
  const times: number[] = [];
  const before = processorMs();
  while (times.length < CALLS && !times.some((ms) => ms > SLOW_MS)) {
    const from = performance.now();
    await db.execute(sql.raw(query));
    times.push(performance.now() - from);
  }
  const used = (processorMs() - before) / times.length;
  times.sort((one, other) => one - other);
  return { medianMs: times[Math.floor(times.length / 2)] ?? Number.NaN, processorMs: used };
}
