import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { usageByHour } from "../../../src/data/views/built-in/usage-by-hour.ts";
import type { CopiedByDays } from "../../../src/data/views/data-view.ts";
import { listViews, maySee, readExtents } from "../../../src/data/views/list-views.ts";
import { makeViews } from "../../../src/data/views/make-views.ts";
import { BUILT_IN_VIEWS } from "../../../src/data/views/registry.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import {
  openEmbeddedInMemory,
  openedKind,
  openTestDatabase,
} from "../../support/servers/databases/test-database.ts";

const SECRET = "never-shown-4f1c";
const onViewMade = async () => undefined;

const KINDS =
  openedKind === "embedded" ? (["embedded"] as const) : (["postgres", "embedded"] as const);

describe.each(KINDS)("the built-in views on %s", (kind) => {
  let database: Database;
  const run = (text: string) => database.db.execute(sql.raw(text));
  beforeAll(async () => {
    database = await (kind === "postgres" ? openTestDatabase() : openEmbeddedInMemory());
    // The prepared schema may be older than the last migration.
    await migrate(database);
    await makeViews(database, { onViewMade });
    for (const statement of fill()) await run(statement);
  });
  afterAll(() => database.close());

  it("have in the catalog what the registry says: names, columns, types and comments", async () => {
    const found = await database.db.execute<{ view: unknown }>(sql`
      select json_build_object('name', relname, 'comment', obj_description(c.oid, 'pg_class'), 'columns', (
        select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, null),
          'comment', col_description(c.oid, attnum)) order by attnum)
        from pg_attribute where attrelid = c.oid and attnum > 0)) as view
      from pg_class c where relnamespace = 'data'::regnamespace`);
    const wanted = BUILT_IN_VIEWS.map(({ name, comment, columns }) => ({
      ...{ name, comment },
      columns: columns.map(({ nullable: _, ...column }) => column),
    }));
    const byName = (one: { name: string }, other: { name: string }) =>
      one.name.localeCompare(other.name);
    const views = Array.from(found, ({ view }) => view as (typeof wanted)[number]);
    expect(views.sort(byName)).toEqual([...wanted].sort(byName));
  });

  it.each(BUILT_IN_VIEWS.map((view) => [view.name, view] as const))(
    "%s shows its row and nothing that is to be kept",
    async (name, view) => {
      const order = view.key.map((column) => `"${column}"`).join(", ");
      const rows = await run(`select * from data."${name}" order by ${order}`);
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain(SECRET);
      for (const { name: column, nullable } of view.columns) {
        if (!nullable) expect(rows.every((row) => row[column] !== null)).toBe(true);
      }
      const extents = await readExtents(database.db, [{ ...view, dataset: null }]);
      expect(extents.get(name)).toMatchObject({ rows: rows.length });
    },
  );

  it("are of no use to the public", async () => {
    const [found] = await run(`select count(*)::int as grants from pg_class, aclexplode(relacl)
      where relnamespace = 'data'::regnamespace and grantee <> relowner`);
    expect(found).toEqual({ grants: 0 });
    const [schema] = await run(`select count(*)::int as grants from pg_namespace, aclexplode(nspacl)
      where nspname = 'data' and grantee <> nspowner`);
    expect(schema).toEqual({ grants: 0 });
  });

  const days = BUILT_IN_VIEWS.filter(({ copied }) => copied.kind === "days");
  it.each(days.map((view) => [view.name, view] as const))(
    "%s has a fingerprint for each day with rows, which changes with them",
    async (name, { copied }) => {
      const { day, ofDay, fingerprints } = copied as CopiedByDays;
      const read = () =>
        run(`select day::text as day, fingerprint from (${fingerprints}) as days order by day`);
      const before = await read();
      const counted = await run(
        `select (${day})::text as day, count(*)::int as rows from data."${name}" group by 1 order by 1`,
      );
      expect(before.map((row) => row["day"])).toEqual(counted.map((row) => row["day"]));
      for (const { day: one, rows } of counted) {
        const [own] = await run(
          `select count(*)::int as rows from data."${name}" where ${ofDay.replaceAll("$1", `'${one}'`)}`,
        );
        expect(own).toEqual({ rows });
      }
      const [, last] = before;
      const since = await run(
        `select day::text as day, fingerprint from (${fingerprints}) as days where day >= '${last?.["day"]}'`,
      );
      expect([...since]).toEqual(before.slice(1));
      for (const statement of CHANGES[name] ?? []) await run(statement);
      const after = await read();
      expect(after[0]).toEqual(before[0]);
      expect(after[1]).not.toEqual(before[1]);
    },
  );

  it("of usage by hour differ once the hours of a day are added up", async () => {
    const { fingerprints } = usageByHour.copied as CopiedByDays;
    const [before] = await run(`select * from (${fingerprints}) as days order by day`);
    await run("update usage_hours set hour = '2026-11-20T00:00Z' where hour < '2026-11-21T00:00Z'");
    const [after] = await run(`select * from (${fingerprints}) as days order by day`);
    expect(after).not.toEqual(before);
  });

  it("are listed before the datasets, for administrators and the keys that name them only", async () => {
    const views = await listViews(database.db);
    expect(views.map(({ name }) => name)).toEqual([
      ...BUILT_IN_VIEWS.map(({ name }) => name),
      "others",
      "shared",
    ]);
    const names = (reader: Parameters<typeof maySee>[1]) =>
      views.filter((view) => maySee(view, reader)).map(({ name }) => name);
    expect(names({ kind: "administrator" })).toHaveLength(views.length);
    expect(names({ kind: "key", names: ["*"] })).toHaveLength(views.length);
    expect(names({ kind: "key", names: ["users", "others", "none"] })).toEqual(["users", "others"]);
    expect(names({ kind: "user", userId: "usr_2" })).toEqual(["shared"]);
    expect(names({ kind: "user", userId: "usr_1" })).toEqual(["others", "shared"]);
  });
});

/** A later row of the second day, with its sums. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  requests: [
    request("r3", "2026-11-21T23:59:59.999Z"),
    sumOf("usage_days", "day", "2026-11-21T00:00Z"),
  ],
  usage_by_hour: [
    sumOf("usage_hours", "hour", "2026-11-21T05:00Z"),
    sumOf("usage_days", "day", "2026-11-21T00:00Z"),
  ],
  usage_by_day: [sumOf("usage_days", "day", "2026-11-21T00:00Z")],
  refusals: ["update limit_refusals set refusals = refusals + 1 where hour >= '2026-11-21T00:00Z'"],
  runs: ["update workflow_runs set status = status where day = '2026-11-21'"],
  run_steps: ["update workflow_steps set rows_out = 1 where day = '2026-11-21'"],
};

function sumOf(table: string, time: string, at: string): string {
  return `insert into ${table} as present (${time}, key_id, model, channel, requests, failures, input_tokens,
      output_tokens, cached_tokens, reasoning_tokens) values ('${at}', 'key_1', 'm', 'chat', 1, 0, 5, 2, 0, 0)
    on conflict (${time}, key_id, model, channel) do update set requests = present.requests + 1`;
}

function request(id: string, at: string): string {
  return `insert into usage_records (id, started_at, key_id, channel, model, outcome, success, status, input_tokens,
      output_tokens, cached_tokens, reasoning_tokens, estimated, latency_ms)
    values ('${id}', '${at}', 'key_1', 'chat', 'm', 'ok', true, 200, 5, 2, 0, 0, false, 30)`;
}

/** Two days of everything, with a secret wherever one could be. */
function fill(): readonly string[] {
  const days = ["2026-11-20", "2026-11-21"];
  return [
    "set time zone 'America/New_York'",
    `insert into users (id, username, role, password_hash) values ('usr_1', 'ann', 'admin', '${SECRET}')`,
    `insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq, ip_allow, tool_scope)
      values ('key_1', 'Key', '${SECRET}', 'last', 'usr_1', 0, '{${SECRET}}', '{"tools": ["${SECRET}"]}')`,
    `insert into workflows (id, name, owner_id, definition, webhook_secret, webhook_url_hash)
      values ('wf_1', 'Flow', 'usr_1', '{"x": "${SECRET}"}', '${SECRET}', '${SECRET} 2')`,
    `insert into datasets (id, name, owner_id, visibility, columns, table_name) values
      ('ds_1', 'others', 'usr_1', 'private', '[]', 'ds_1_x'), ('ds_2', 'shared', null, 'everyone', '[]', 'ds_2_x')`,
    ...days.flatMap((day) => [
      request(`r${day}`, `${day}T01:00Z`),
      sumOf("usage_days", "day", `${day}T00:00Z`),
      sumOf("usage_hours", "hour", `${day}T01:00Z`),
      `insert into limit_refusals values ('${day}T02:00Z', 'key_1', 'chat', 'rate_limit', 2)`,
      `insert into workflow_runs (id, day, workflow_id, workflow_name, version, status, number, trigger, rows_received,
          queued_at, started_at, ended_at, error, usage)
        values ('run_${day}', '${day}', 'wf_1', 'Flow', 1, 'failed', 1, '{"kind": "webhook", "body": "${SECRET}"}', 1,
          '${day}T03:00Z', '${day}T03:00:01Z', '${day}T03:00:02.5Z', '{"code": "timeout", "message": "${SECRET}"}',
          '{"calls": 2, "input_tokens": 10, "output_tokens": 3}')`,
      `insert into workflow_steps (day, run_id, step_id, position, kind, status, error, outputs, skipped_because)
        values ('${day}', 'run_${day}', 'a', 0, 'map', 'failed', '{"code": "x", "message": "${SECRET}"}',
          '[{"name": "${SECRET}"}]', '${SECRET}')`,
    ]),
  ];
}
