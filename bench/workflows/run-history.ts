// The history of workflow runs: lists, filters, figures and the end of a day, over a million runs of 90 days.
// usage: bun bench/workflows/run-history.ts [--quick] [--embedded] [--check]
import { parseArgs } from "node:util";
import { sql } from "drizzle-orm";
import { loadConfig } from "../../src/config/load-config.ts";
import type { AnyCaller, SessionCaller } from "../../src/core/callers/caller.ts";
import type { Db } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { openEmbedded } from "../../src/db/embedded/open-embedded.ts";
import { migrate } from "../../src/db/migrate.ts";
import { openPostgres } from "../../src/db/open-postgres.ts";
import { createLog } from "../../src/lib/log.ts";
import { findRun } from "../../src/workflows/records/find-run.ts";
import { listRuns, type RunPlace, type RunQuery } from "../../src/workflows/records/list-runs.ts";
import { utcDay } from "../../src/workflows/runs/run-id.ts";
import { percentile } from "../../tests/support/percentile.ts";
import { startPostgresCluster } from "../../tests/support/servers/databases/postgres-cluster.ts";
import { emptyArchive } from "../../tests/support/servers/databases/prepared-database.ts";

const DAY_MS = 86_400_000;
const DAYS = 90;
const WORKFLOWS = 200;
const OWNERS = 20;
/** The first of them are shared by everybody. */
const SHARED = 20;
const ROUNDS = 20;
const LIST_P95_MS = 200;
const DROP_MS = 1_000;
const WAIT_MS = 600_000;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    embedded: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
  },
});
const RUNS = options.quick ? 100_000 : 1_000_000;
const PER_DAY = Math.ceil(RUNS / DAYS);
const log = createLog("error");
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;

const administrator: SessionCaller = {
  ...{ kind: "session", sessionId: "", ownerId: "usr_0", username: "admin", role: "admin" },
  ...{ mustChangePassword: false, passthrough: false },
};
const user: SessionCaller = { ...administrator, ownerId: "usr_7", role: "user" };
const stranger: SessionCaller = { ...administrator, ownerId: "usr_none", role: "user" };

/** The digits of a day in the id of a run, for SQL. */
const dayDigits = (day: number) =>
  Math.floor(day / DAY_MS)
    .toString(36)
    .padStart(4, "0");
const isMissed: string[] = [];

const cluster = options.embedded ? undefined : await startPostgresCluster();
const database = cluster === undefined ? await openInMemory() : await openServer(cluster.url);
try {
  await migrate(database);
  const from = performance.now();
  for (let day = today - (DAYS - 1) * DAY_MS; day <= today; day += DAY_MS) {
    await fillDay(database.db, day);
  }
  await fillWorkflows(database.db);
  await database.db.execute(sql.raw("analyze workflow_runs"));
  const seconds = ((performance.now() - from) / 1_000).toFixed(0);
  console.log(`${database.kind}: ${DAYS * PER_DAY} runs over ${DAYS} days, filled in ${seconds} s`);
  await measureLists(database);
  await measureFigures(database);
  await measureDrop(database.db);
} finally {
  await database.close();
  await cluster?.remove();
}
if (options.check && isMissed.length > 0) {
  console.error(`missed: ${isMissed.join(", ")}`);
  process.exitCode = 1;
}

function openServer(url: string): Promise<Database> {
  return openPostgres(url, { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: WAIT_MS }, log);
}

async function openInMemory(): Promise<Database> {
  const limits = { waitMs: WAIT_MS, limitMs: () => WAIT_MS };
  return openEmbedded({ dataFolder: undefined, archive: await emptyArchive(), ...limits, log });
}

/** One partition a day; of a thousand runs one was stopped, 40 failed, and one was started by a dataset. */
async function fillDay(db: Db, day: number): Promise<void> {
  const name = sql.raw(`workflow_runs_d${utcDay(day).replaceAll("-", "")}`);
  const first = sql.raw(`'${utcDay(day)}'`);
  const next = sql.raw(`'${utcDay(day + DAY_MS)}'`);
  await db.execute(
    sql`create table ${name} partition of workflow_runs for values from (${first}) to (${next})`,
  );
  const step = Math.floor((Math.min(DAY_MS, Date.now() - day) / PER_DAY) * 1_000);
  await db.execute(sql`
    insert into workflow_runs (
      id, day, workflow_id, workflow_name, owner_id, version, status, number, trigger, rows_received, queued_at,
      started_at, ended_at, attempts
    )
    select 'run_' || ${dayDigits(day)}::text || lpad(n::text, 20, '0'), ${utcDay(day)}::date,
      'wf_' || n % ${WORKFLOWS}, 'workflow ' || n % ${WORKFLOWS}, 'usr_' || n % ${WORKFLOWS} % ${OWNERS}, 1,
      case when n % 1000 = 0 then 'stopped' when n % 25 = 0 then 'failed' else 'completed' end, n,
      jsonb_build_object('kind', case when n % 1000 = 7 then 'dataset' when n % 3 = 0 then 'schedule' else 'webhook' end),
      2, at, at, at + interval '3 seconds', 1
    from generate_series(1, ${PER_DAY}::bigint) as n,
      lateral (select ${new Date(day).toISOString()}::timestamptz + n * (${step}::bigint * interval '1 microsecond')) as t (at)`);
}

async function fillWorkflows(db: Db): Promise<void> {
  await db.execute(sql`
    insert into users (id, username, role) select 'usr_' || n, 'user ' || n, 'user' from generate_series(0, ${OWNERS}) n`);
  await db.execute(sql`
    insert into workflows (id, name, owner_id, visibility, definition)
    select 'wf_' || n, 'workflow ' || n, 'usr_' || n % ${OWNERS},
      case when n < ${SHARED} then 'everyone' else 'private' end, '{}'
    from generate_series(0, ${WORKFLOWS - 1}) n`);
}

async function measureLists(database: Database): Promise<void> {
  const { settings } = loadConfig({});
  const reading = { database, settings, clock: { now: Date.now } };
  const cases: readonly (readonly [string, AnyCaller, Partial<RunQuery>])[] = [
    ["all runs", administrator, {}],
    ["1,000 runs", administrator, { limit: 1_000 }],
    ["one workflow", administrator, { workflowId: "wf_150" }],
    ["failed", administrator, { status: "failed" }],
    ["stopped, 1 of 1,000", administrator, { status: "stopped" }],
    ["queued, of which there are none", administrator, { status: "queued" }],
    ["by schedule", administrator, { triggerKind: "schedule" }],
    ["by dataset, 1 of 1,000", administrator, { triggerKind: "dataset" }],
    ["by file, of which there are none", administrator, { triggerKind: "file" }],
    ["a month ago", administrator, { from: today - 31 * DAY_MS, to: today - 30 * DAY_MS }],
    ["failed of one workflow", administrator, { workflowId: "wf_150", status: "failed" }],
    ["a user's own and shared", user, {}],
    ["a user's stopped", user, { status: "stopped" }],
    ["a stranger's shared", stranger, {}],
    ["a stranger's of a private workflow", stranger, { workflowId: "wf_150" }],
  ];
  for (const [name, caller, query] of cases) {
    let before: RunPlace | undefined;
    const times: number[] = [];
    let found = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const at = performance.now();
      const page = await listRuns(reading, caller, {
        limit: 50,
        ...query,
        before,
      });
      times.push(performance.now() - at);
      found += page.runs.length;
      // The next round reads the next page.
      before = page.next ?? undefined;
    }
    report(`list: ${name} (${found})`, times, LIST_P95_MS);
  }
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const day = today - round * DAY_MS;
    const at = performance.now();
    await findRun(reading, administrator, `run_${dayDigits(day)}${"77".padStart(20, "0")}`);
    times.push(performance.now() - at);
  }
  report("one run with its steps", times, LIST_P95_MS);
}

/** The questions that the metrics ask. */
async function measureFigures({ askOwn }: Database): Promise<void> {
  const since = new Date(Date.now() - DAY_MS);
  const figures = {
    "runs of 24 h by status": sql`
      select status, count(*) from workflow_runs
      where day >= ${utcDay(since.getTime())}::date and queued_at >= ${since.toISOString()}::timestamptz group by status`,
    "the oldest queued run": sql`
      select min(queued_at) from workflow_active_runs where status = 'queued'`,
    "stale runs": sql`
      select count(*) from workflow_active_runs
      where status = 'running' and started_at < now() - timeout_seconds * interval '0.5 second'`,
  };
  for (const [name, query] of Object.entries(figures)) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const at = performance.now();
      await askOwn((db) => db.execute(query));
      times.push(performance.now() - at);
    }
    report(`metrics: ${name}`, times, LIST_P95_MS);
  }
}

async function measureDrop(db: Db): Promise<void> {
  const times: number[] = [];
  for (let age = DAYS - 1; age > DAYS - 6; age -= 1) {
    const day = utcDay(today - age * DAY_MS).replaceAll("-", "");
    const at = performance.now();
    await db.execute(sql.raw(`drop table workflow_runs_d${day}`));
    times.push(performance.now() - at);
  }
  report("drop one day", times, DROP_MS);
}

function report(name: string, times: readonly number[], goalMs: number): void {
  const p95 = percentile(times, 0.95);
  if (p95 > goalMs) isMissed.push(name);
  const shown = [percentile(times, 0.5), p95, Math.max(...times)].map((ms) =>
    ms.toFixed(1).padStart(8),
  );
  console.log(`${name.padEnd(46)} p50 ${shown[0]} ms  p95 ${shown[1]} ms  most ${shown[2]} ms`);
}
