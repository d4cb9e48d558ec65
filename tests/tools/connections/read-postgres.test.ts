import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { updateConnection } from "../../../src/tools/connections/change-connection.ts";
import type { SavedConnection } from "../../../src/tools/connections/connection.ts";
import { canMakeCertificates, makeCertificate } from "../../support/processes/make-certificate.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { createDatabase, type OwnDatabase } from "../../support/servers/databases/test-database.ts";
import {
  type ConnectionsStage,
  failureOf,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";

const server = new URL(databaseServerUrl ?? "postgres://nobody@127.0.0.1:1/none");
const soon = { timeout: 20_000, interval: 20 };
let own: OwnDatabase;
let owner: ReturnType<typeof postgres>;
let stage: ConnectionsStage;
let shop: SavedConnection;

const fieldsOf = (url: URL) => ({
  kind: "postgres" as const,
  host: "127.0.0.1",
  port: Number(url.port),
  database: url.pathname.slice(1),
  user: url.username,
  tls: "off" as const,
});

describe.runIf(databaseServerUrl !== undefined)("a saved connection to PostgreSQL", () => {
  beforeAll(async () => {
    own = await createDatabase(server.href);
    owner = postgres(own.url, { max: 2, onnotice: () => undefined });
    await owner.unsafe(`
      create table orders (id int primary key, total numeric(10, 2), note text);
      insert into orders select n, n * 1.5, 'order ' || n from generate_series(1, 50) n;
      create view late as select id from orders where id > 40;
      create schema archive; create table archive.old (at timestamptz, "odd ""name""" text[]);`);
    stage = await openConnectionsStage();
    shop = await stage.save({ name: "shop", ...fieldsOf(new URL(own.url)) });
  });
  afterAll(async () => {
    await stage?.close();
    await owner?.end();
    await own?.drop();
  });
  /** The states of the gateway's sessions at the server. */
  const sessions = async () => {
    const rows = await owner`
      select pid, state, query from pg_stat_activity
      where application_name = 'inference-gateway' and datname = current_database()`;
    return rows.map(({ pid, state, query }) => ({ pid, state, query }));
  };

  it("shows each value in a stable form", async () => {
    const { columns, rows, isCut } = await stage.read(
      shop,
      `select 1 as a, 2 as a, 9007199254740991::int8, 9007199254740993::int8, 1.50::numeric, 0.1::float8,
        'NaN'::float8, '-Infinity'::float4, '{"a": [1]}'::jsonb, '2026-02-03'::date, '2026-02-03 04:05:06'::timestamp,
        '\\x6869'::bytea, array[1, 2], interval '1 day 2 hours', null, true, 'Grüße 🎉', 'a' as "odd ""name"""`,
    );
    expect(columns.slice(0, 2)).toEqual(["a", "a"]);
    expect(columns.at(-1)).toBe('odd "name"');
    expect(isCut).toBe(false);
    expect(rows).toEqual([
      [
        ...[1, 2, 9007199254740991, "9007199254740993", "1.50", 0.1, "NaN", "-Infinity"],
        ...[{ a: [1] }, "2026-02-03", "2026-02-03 04:05:06", "\\x6869", "{1,2}", "1 day 02:00:00"],
        ...[null, true, "Grüße 🎉", "a"],
      ],
    ]);
  });

  it("reads no more rows than asked for, and says that there are more", async () => {
    const sql = "select id from orders order by id";
    const cut = await stage.read(shop, sql, { maxRows: 3 });
    expect(cut).toEqual({ columns: ["id"], rows: [[1], [2], [3]], isCut: true });
    const whole = await stage.read(shop, sql, { maxRows: 50 });
    expect([whole.rows.length, whole.isCut]).toEqual([50, false]);
    const endless = "select generate_series(1, 1e18::int8)";
    expect((await stage.read(shop, endless, { maxRows: 2 })).isCut).toBe(true);
    expect((await stage.read(shop, "select id from orders where false")).rows).toEqual([]);
    expect((await stage.read(shop, "show server_version")).rows).toHaveLength(1);
    expect((await stage.read(shop, "explain select 1")).rows).toHaveLength(1);
  });

  it.each([
    ["insert into orders values (99)", /read-only transaction/],
    ["with gone as (delete from orders returning id) select * from gone", /read-only transaction/],
    ["select set_config('transaction_read_only', 'off', false)", /before any query|read-write/],
    ["select 1; delete from orders", /multiple commands/],
    ["select nothing from orders", /column "nothing" does not exist \(42703\)/],
    ["copy (select 1) to stdout", /run a query/],
    ["copy orders from stdin", /read-only|run a query/],
    ["", /empty/],
    ["-- nothing", /empty/],
    ["select 1/0", /division by zero/],
  ])("refuses %s in the database's words, and stays usable", async (sql, words) => {
    const failure = await failureOf(stage.read(shop, sql));
    expect(failure).toMatchObject({ name: "ServiceError", code: "invalid_value" });
    expect(failure.message).toMatch(words);
    expect(failure.message).toMatch(/^Saved connection 'shop': /);
    expect((await stage.read(shop, "select count(*) from orders")).rows).toEqual([[50]]);
  });

  it("leaves neither a transaction nor settings nor locks of a query behind", async () => {
    await stage.read(shop, "select set_config('search_path', 'archive', false)");
    await stage.read(shop, "select pg_advisory_lock(4711)");
    const one = await stage.read(
      shop,
      "select current_schema(), current_setting('statement_timeout')",
    );
    expect(one.rows[0]?.[0]).toBe("public");
    await expect
      .poll(async () => (await owner`select 1 from pg_locks where objid = 4711`).length, soon)
      .toBe(0);
    await expect
      .poll(async () => (await sessions()).every(({ state }) => state === "idle"), soon)
      .toBe(true);
  });

  it("ends a query at its time at the server, though the query lifts its own", async () => {
    for (const sql of [
      "select pg_sleep(600)",
      "select set_config('statement_timeout', '0', true), pg_sleep(600)",
    ]) {
      const failure = await failureOf(stage.read(shop, sql, { timeoutMs: 300 }));
      expect(failure).toMatchObject({ code: "upstream_timeout" });
      await expect
        .poll(async () => (await sessions()).filter(({ state }) => state === "active"), soon)
        .toEqual([]);
    }
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("ends a query at the server when the call is aborted, and uses the connection again", async () => {
    await stage.read(shop, "select 1");
    const ending = new AbortController();
    const reason = new Error("the client left");
    const reading = failureOf(stage.read(shop, "select pg_sleep(600)", { signal: ending.signal }));
    const sleeping = async () =>
      (await sessions()).find(({ state, query }) => state === "active" && /sleep/.test(query));
    await expect.poll(sleeping, soon).toBeDefined();
    const pid = (await sleeping())?.pid;
    ending.abort(reason);
    expect(await reading).toBe(reason);
    await expect.poll(sleeping, soon).toBeUndefined();
    await expect
      .poll(async () => (await sessions()).find((one) => one.pid === pid)?.state, soon)
      .toBe("idle");
    const pids = await Promise.all(
      [1, 2, 3, 4].map(() => stage.read(shop, "select pg_backend_pid(), pg_sleep(0.2)")),
    );
    expect(pids.map(({ rows }) => rows[0]?.[0])).toContain(pid);
  });

  it("holds four sessions at most, while further queries wait", async () => {
    const reads = Array.from({ length: 9 }, () => stage.read(shop, "select pg_backend_pid()"));
    const pids = (await Promise.all(reads)).map(({ rows }) => rows[0]?.[0]);
    expect(pids).toHaveLength(9);
    expect(new Set(pids).size).toBeLessThanOrEqual(4);
    expect((await sessions()).length).toBeLessThanOrEqual(4);
  });

  it.each([
    ["one value", "select repeat('x', 60000000)"],
    ["many values", "select repeat('x', 1000000) from generate_series(1, 200) n"],
  ])("takes no more than its share of a result of megabytes in %s", async (_what, sql) => {
    const failure = await failureOf(stage.read(shop, sql, { maxRows: 200, timeoutMs: 60_000 }));
    expect(failure).toMatchObject({ code: "invalid_value" });
    expect(failure.message).toMatch(/larger than 16 MiB/);
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("connects again when the server has ended an idle session", async () => {
    await stage.read(shop, "select 1");
    await expect.poll(async () => (await sessions()).length, soon).toBeGreaterThan(0);
    await owner`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'inference-gateway' and datname = current_database()`;
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("describes tables and views with their columns, without those of the system", async () => {
    const signal = new AbortController().signal;
    expect(await stage.connections.saved.describe(shop, signal)).toEqual([
      { name: "late", columns: [{ name: "id", type: "integer" }] },
      {
        name: "orders",
        columns: [
          { name: "id", type: "integer" },
          { name: "total", type: "numeric(10,2)" },
          { name: "note", type: "text" },
        ],
      },
      {
        name: "archive.old",
        columns: [
          { name: "at", type: "timestamp with time zone" },
          { name: 'odd "name"', type: "text[]" },
        ],
      },
    ]);
  });

  it("closes its idle sessions when it is changed, and the next call has the change", async () => {
    const moving = await stage.save({ name: "moving", ...fieldsOf(new URL(own.url)) });
    await stage.read(moving, "select 1");
    const pids = new Set((await sessions()).map(({ pid }) => pid));
    const change = { id: moving.id, given: { database: "no_such_database" } };
    await updateConnection(stage.connections.desk, stage.access.admin, change);
    const failure = await failureOf(stage.read(moving, "select 1"));
    expect(failure).toMatchObject({ code: "upstream_error" });
    expect(failure.message).toMatch(/database "no_such_database" does not exist/);
    await expect
      .poll(async () => (await sessions()).filter(({ pid }) => pids.has(pid)).length, soon)
      .toBeLessThan(pids.size);
  });

  it.runIf(canMakeCertificates)(
    "checks the certificate and its host, unless told not to",
    async () => {
      const certificate = makeCertificate("DNS:db.test", "IP:127.0.0.1");
      const other = makeCertificate("DNS:elsewhere.test");
      const secured = await startPostgresCluster({ tls: certificate });
      const astray = await startPostgresCluster({ tls: other });
      const trusting = await openConnectionsStage({ authorities: certificate.pem + other.pem });
      try {
        const fields = { ...fieldsOf(new URL(secured?.url ?? "")), database: "postgres" };
        const isSecure = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
        const verified = await trusting.save({ name: "verified", ...fields, tls: "verify" });
        expect((await trusting.read(verified, isSecure)).rows).toEqual([[true]]);
        const unknown = await stage.save({ name: "unknown authority", ...fields, tls: "verify" });
        expect((await failureOf(stage.read(unknown, "select 1"))).message).toMatch(
          /TLS failed: .*NODE_EXTRA_CA_CERTS/,
        );
        const any = await stage.save({ name: "any certificate", ...fields, tls: "on" });
        expect((await stage.read(any, isSecure)).rows).toEqual([[true]]);
        const port = Number(new URL(astray?.url ?? "").port);
        const wrong = await trusting.save({ name: "other host", ...fields, port, tls: "verify" });
        expect((await failureOf(trusting.read(wrong, "select 1"))).message).toMatch(/TLS failed/);
        const plain = { ...fieldsOf(new URL(own.url)), tls: "on" as const };
        const without = await stage.save({ name: "no tls", ...plain });
        expect((await failureOf(stage.read(without, "select 1"))).message).toMatch(/offers no TLS/);
      } finally {
        await trusting.close();
        await secured?.remove();
        await astray?.remove();
        certificate.remove();
        other.remove();
      }
    },
  );
});
