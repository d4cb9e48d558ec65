import { sql } from "drizzle-orm";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import {
  backUpOpen,
  createBackupStage,
  crossings,
  makeInstallationWith,
  restore,
  withDatabase,
} from "../../support/stages/backup-stage.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const stage = createBackupStage();
afterAll(() => stage.remove());

const DAY = "2026-11-22";
const TABLE = 'ds_1_"odd';
/** Each migration 0012 made, with its partitions. */
const TABLES = [
  ...["workflows", "workflow_versions", "workflow_queues", "workflow_runs", "workflow_steps"],
  ...["workflow_rows", "workflow_facts", "workflow_schedules", "workflow_marks"],
  ...["workflow_secrets", "workflow_active_runs", "datasets"],
];

async function fill(db: Db): Promise<void> {
  const run = (text: string) => db.execute(sql.raw(text));
  await run("insert into users (id, username, role) values ('usr_1', 'ann', 'admin')");
  await run(
    `insert into workflows (id, name, owner_id, definition) values ('wf_1', 'a "b"', 'usr_1', '{"steps": [{"x": "\\u00fc"}]}')`,
  );
  await run(
    "insert into workflow_versions (workflow_id, version, definition) values ('wf_1', 1, '{}')",
  );
  await run(
    `insert into workflow_queues (workflow_id, last_number, queued, discarded) values ('wf_1', 9007199254740991, 1, '{"loop": 2}')`,
  );
  for (const table of ["runs", "steps", "rows", "facts"]) {
    await run(
      `create table workflow_${table}_20261122 partition of workflow_${table} for values from ('${DAY}') to ('2026-11-23')`,
    );
  }
  const fields =
    "(id, day, workflow_id, workflow_name, version, status, number, trigger, rows_received, queued_at)";
  const rest = `'wf_1', 'a', 1`;
  for (const [id, status, number] of [
    ["done", "completed", 1],
    ["running", "running", 2],
    ["queued", "queued", 3],
  ]) {
    await run(
      `insert into workflow_runs ${fields} values ('run_${id}', '${DAY}', ${rest}, '${status}', ${number}, '{"kind": "manual"}', 1, '${DAY}')`,
    );
  }
  // In no partition of its own: it is in the default one.
  await run(
    `insert into workflow_runs ${fields} values ('run_old', '2020-01-01', ${rest}, 'failed', 0, '{}', 1, '2020-01-01')`,
  );
  await run(`insert into workflow_steps (day, run_id, step_id, position, kind, status) values
    ('${DAY}', 'run_done', 'a', 0, 'map', 'completed'), ('${DAY}', 'run_running', 'a', 0, 'map', 'completed'),
    ('${DAY}', 'run_running', 'b', 1, 'chat', 'running')`);
  // Changed after it was stored, as every run is.
  await run("update workflow_runs set attempts = 7 where id = 'run_done'");
  await run(`insert into workflow_rows values ('${DAY}', 'run_done', 'a', 'main', 0, 1, 5, '\\x1f8b0800ff00'),
    ('2020-01-01', 'run_old', 'a', 'main', 0, 1, 5, '\\x00')`);
  await run(
    `insert into workflow_facts values ('${DAY}', 'wf_1', 'webhook', 'key', 'hash', 'run_done', '{}', now())`,
  );
  await run("insert into workflow_schedules values ('wf_1', 'schedule:1', now(), now())");
  await run(
    `insert into workflow_marks (kind, subject, run_id, chain) values ('file', '/a', 'run_done', '["wf_1"]')`,
  );
  await run(
    "insert into workflow_secrets (owner_id, name, sealed) values ('usr_1', 'hook', 'v1.sealed')",
  );
  await run(
    "insert into outbox_events (id, sink, kind, body) values ('evt_run', 'workflow_run', 'run', '{}'), ('evt_note', 'workflow_notify', 'workflow.notify', '{}')",
  );
  await run(`insert into workflow_active_runs (run_id, day, workflow_id, status, number, job_id, trigger_key, queued_at, timeout_seconds) values
    ('run_running', '${DAY}', 'wf_1', 'running', 2, 'evt_run', 'manual', now(), 60),
    ('run_queued', '${DAY}', 'wf_1', 'queued', 3, null, 'manual', now(), 60)`);
}

/** A dataset in its second version, part of whose rows are in a table that inherits, and a table that is none. */
async function addDataset(db: Db): Promise<void> {
  const run = (text: string) => db.execute(sql.raw(text));
  const name = `"${TABLE.replaceAll('"', '""')}"`;
  await run(`insert into datasets (id, name, columns, key, table_name, rows, version)
    values ('ds_1', 'prices', '[]', '["a b"]', '${TABLE}', 3, 2)`);
  await run(`create table datasets.${name} (_load integer, _row bigint, _gone integer, "a b" text, amount numeric(38, 9),
    at timestamp(3) with time zone, more jsonb, big bigint)`);
  await run(`create index on datasets.${name} (_load, _row)`);
  await run(`create index on datasets.${name} (_gone) where _gone is not null`);
  await run(`create unique index on datasets.${name} ("a b")`);
  await run(`insert into datasets.${name} values
    (1, 1, null, 'x', 1.5, '2026-11-22 10:00:00.123+00', '{"a": [null]}', 9007199254740993),
    (1, 2, 2, 'removed', 0, null, null, null), (2, 1, null, 'after', 1, null, null, null)`);
  await run(`create table datasets.part () inherits (datasets.${name})`);
  await run(
    "insert into datasets.part values (2, 2, null, 'of the part', null, null, null, null), (3, 1, null, 'uncommitted version', null, null, null, null)",
  );
  await run("create table datasets.a_load (a int)");
}

async function contentOf(db: Db): Promise<Record<string, readonly string[]>> {
  const all: Record<string, readonly string[]> = {};
  for (const name of TABLES) {
    const rows = await db.execute<{ row: string }>(
      sql.raw(`select t::text as row from ${name} t order by 1`),
    );
    all[name] = rows.map(({ row }) => row);
  }
  return all;
}

/** The progress that a restore reports, as letters: `r`ead, `t`ick, and `a`llowed to take long from here on. */
function watchRestore() {
  const steps: string[] = [];
  return {
    steps,
    onRead: (part: string) => void (part === "loading" && steps.push("r")),
    limit: {
      tick: () => void steps.push("t"),
      allow: (limitMs: number) => void steps.push(limitMs > 3_600_000 ? "a" : "short"),
      hold: <Result>(work: Promise<Result>) => work,
    },
  };
}

/** That each index, reference and sequence is progress, and one may take as long as a statement may. */
function expectWatched(steps: readonly string[]): void {
  const [reading, making, ...more] = steps.join("").split("a");
  expect(more).toEqual([]);
  expect(reading).toMatch(/^[rt]*r[rt]*$/);
  // Three indexes of the dataset, and at least as many references between tables.
  expect(making).toMatch(/^t{6,}$/);
}

describe.each(crossings)("a backup of workflows and datasets from %s to %s", (from, to) => {
  test("carries every table, typed tables of datasets, sealed secrets, and no run that would go on", async () => {
    const source = await stage.newPlace(from);
    const file = stage.newFile();
    const before = await makeInstallationWith(source, 0, async (database) => {
      await fill(database.db);
      await addDataset(database.db);
      await backUpOpen(source, database, file);
      return contentOf(database.db);
    });
    const target = await stage.newPlace(to);
    const watched = watchRestore();
    await restore(target, file, watched);
    expectWatched(watched.steps);
    await withDatabase(target, async (db) => {
      const after = await contentOf(db);
      const changed = [
        "workflow_runs",
        "workflow_steps",
        "workflow_queues",
        "workflow_active_runs",
      ];
      for (const name of TABLES) {
        if (changed.includes(name)) continue;
        expect([name, after[name]]).toEqual([name, before[name]]);
        expect([name, after[name]?.length]).not.toEqual([name, 0]);
      }
      await expectRuns(db);
      await expectDataset(db);
    });
  });
});

async function expectRuns(db: Db): Promise<void> {
  const runs = await db.execute(sql`
    select id, status, attempts, error ->> 'code' as code, ended_at is not null as ended, tableoid::regclass::text as place
    from workflow_runs order by id`);
  const place = "workflow_runs_20261122";
  expect([...runs]).toEqual([
    { id: "run_done", status: "completed", attempts: 7, code: null, ended: false, place },
    {
      id: "run_old",
      status: "failed",
      attempts: 0,
      code: null,
      ended: false,
      place: "workflow_runs_other",
    },
    { id: "run_queued", status: "stopped", attempts: 0, code: "restored", ended: true, place },
    { id: "run_running", status: "stopped", attempts: 0, code: "restored", ended: true, place },
  ]);
  const steps = await db.execute(
    sql`select run_id, step_id, status from workflow_steps order by 1, 2`,
  );
  expect(steps.map(({ status }) => status)).toEqual(["completed", "completed", "stopped"]);
  expect(await db.execute(sql`select from workflow_active_runs`)).toHaveLength(0);
  const [queue] = await db.execute(
    sql`select last_number::text as last, queued from workflow_queues`,
  );
  expect(queue).toEqual({ last: "9007199254740991", queued: 0 });
  const jobs = await db.execute(
    sql`select id, dead_at is null as waits from outbox_events order by id`,
  );
  // A message that was stored is sent, with the id under which it may have been sent before.
  expect([...jobs]).toEqual([
    { id: "evt_note", waits: true },
    { id: "evt_run", waits: false },
  ]);
}

async function expectDataset(db: Db): Promise<void> {
  const rows = await db.execute<{ row: string }>(
    sql.raw(
      `select t::text as row from datasets."${TABLE.replaceAll('"', '""')}" t order by _load, _row`,
    ),
  );
  expect(rows.map(({ row }) => row)).toEqual([
    `(1,1,,x,1.500000000,"2026-11-22 10:00:00.123+00","{""a"": [null]}",9007199254740993)`,
    "(2,1,,after,1.000000000,,,)",
    `(2,2,,"of the part",,,,)`,
  ]);
  const tables = await db.execute(
    sql`select relname from pg_class where relnamespace = 'datasets'::regnamespace and relkind = 'r'`,
  );
  expect([...tables]).toEqual([{ relname: TABLE }]);
  const indexes = await db.execute<{ definition: string }>(sql`
    select regexp_replace(pg_get_indexdef(indexrelid), '^.* USING btree ', '') as definition
    from pg_index join pg_class on pg_class.oid = indrelid where relname = ${TABLE} order by 1`);
  expect(indexes.map(({ definition }) => definition)).toEqual([
    '("a b")',
    "(_gone) WHERE (_gone IS NOT NULL)",
    "(_load, _row)",
  ]);
  await expect(
    db.execute(
      sql.raw(`insert into datasets."${TABLE.replaceAll('"', '""')}" ("a b") values ('x')`),
    ),
  ).rejects.toThrow();
}
