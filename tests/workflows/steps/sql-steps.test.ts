import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/lib/json/json.ts";
import { querySqlStep } from "../../../src/workflows/steps/query-sql.ts";
import type { CheckContext } from "../../../src/workflows/steps/step-kind.ts";
import type { StepServices } from "../../../src/workflows/steps/step-services.ts";
import { writeSqlStep } from "../../../src/workflows/steps/write-sql.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  type MariadbServer,
  startMariadbServer,
} from "../../support/servers/databases/mariadb-server.ts";
import { createDatabase, type OwnDatabase } from "../../support/servers/databases/test-database.ts";
import {
  type ConnectionsStage,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";
import { simpleTexts } from "../../support/workflows/simple-texts.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

let stage: ConnectionsStage;
let own: OwnDatabase;
let owner: ReturnType<typeof postgres>;
let maria: MariadbServer | undefined;

const kinds = () => {
  const { connections, access } = stage;
  const services = {
    ...{ connections, clock: access.access.clock, rowProcess: simpleTexts },
  } as unknown as StepServices;
  return { query: querySqlStep(services), write: writeSqlStep(services) };
};
const query = (settings: JsonObject, more: Partial<StepCase> = {}) =>
  runStep(kinds().query, { settings: { connection: "shop", ...settings }, ...more });
const checkQuery = (settings: JsonObject) => {
  const { check, schema } = kinds().query;
  return check?.(
    schema.parse({ connection: "shop", ...settings }) as JsonObject,
    {} as CheckContext,
  );
};
const write = (settings: JsonObject, more: Partial<StepCase> = {}) =>
  runStep(kinds().write, { settings: { connection: "shop", ...settings }, ...more });

describe.runIf(databaseServerUrl !== undefined)("steps on a saved PostgreSQL connection", () => {
  beforeAll(async () => {
    own = await createDatabase(databaseServerUrl ?? "");
    owner = postgres(own.url, { max: 1, onnotice: () => undefined });
    await owner.unsafe(`
      create table orders (id int primary key, total numeric(10, 2));
      insert into orders select n, n * 1.5 from generate_series(1, 50) n;
      create schema "odd ""schema";
      create table "odd ""schema"."odd table" ("k ""1" int primary key, note text, more jsonb, at timestamptz, ok boolean)`);
    stage = await openConnectionsStage();
    const url = new URL(own.url);
    const fields = { host: "127.0.0.1", port: Number(url.port), database: url.pathname.slice(1) };
    await stage.save({ name: "shop", kind: "postgres", ...fields, user: url.username, tls: "off" });
    await stage.save({ name: "file", kind: "sqlite", file: "workspace/a.db" });
  });
  afterAll(async () => {
    await stage?.close();
    await owner?.end();
    await own?.drop();
  });
  const place = ['odd "schema', "odd table"];
  const stored = () => owner`select * from "odd ""schema"."odd table" order by 1`;

  test("query_sql returns rows, with columns of one name kept apart", async () => {
    const { outputs } = await query({
      sql: "select id, total, id + 1 as id from orders where id < 3 order by 1",
    });
    expect(outputs.main).toEqual([
      { id: 1, total: "1.50", id_2: 2 },
      { id: 2, total: "3.00", id_2: 3 },
    ]);
  });

  test("query_sql fails rather than leave rows out", async () => {
    await expect(query({ sql: "select id from orders", max_rows: 49 })).rejects.toMatchObject({
      code: "too_many_rows",
    });
    const { outputs } = await query({ sql: "select id from orders", max_rows: 50 });
    expect(outputs.main).toHaveLength(50);
  });

  test("query_sql refuses what writes or is more than one statement, when saved and when run", async () => {
    for (const sql of ["delete from orders", "select 1; select 2", "select pg_sleep(100)"]) {
      await expect(query({ sql })).rejects.toMatchObject({
        name: "StepFailure",
        code: "sql_refused",
      });
      const faults = await checkQuery({ sql });
      expect(faults).toMatchObject([{ field: "sql" }]);
    }
    expect(await owner`select from orders`).toHaveLength(50);
    expect(await checkQuery({ connection: "nobody's", sql: "select 1" })).toMatchObject([
      { field: "connection" },
    ]);
  });

  test("query_sql binds its parameters, whose types the server infers", async () => {
    const sql =
      "select id, $2::text as said, $3::bool as yes, $4::jsonb ->> 'a' as a, $5::timestamptz::text as at, $6::text as none from orders where id = $1";
    const said = "it's $1; drop table orders -- {{ row.none }}";
    const parameters = [7, said, true, '{"a": "b"}', "2026-01-02 03:04+00", null];
    const { outputs } = await query({ sql, parameters });
    expect(outputs.main).toEqual([
      {
        ...{ id: 7, said: said.replace("{{ row.none }}", ""), yes: true, a: "b" },
        ...{ at: expect.stringContaining("2026-01-02"), none: null },
      },
    ]);
    const one = await query({ sql: "select id from orders where id = $1", parameters: ["7"] });
    expect(one.outputs.main).toEqual([{ id: 7 }]);
    expect(await checkQuery({ sql })).toMatchObject([{ field: "sql" }]);
    expect(await checkQuery({ sql, parameters })).toEqual([]);
  });

  test("query_sql binds the parameters of a SQLite statement, as many as it has", async () => {
    const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as {
      readonly Database: new (path: string) => { exec(sql: string): void; close(): void };
    };
    const file = new Database(join(stage.workspace, "a.db"));
    file.exec("create table t (n integer, note text); insert into t values (1, 'a?'), (2, 'b')");
    file.close();
    const ask = (parameters: JsonValue[]) =>
      query({ connection: "file", sql: "select n from t where n = ? or note = ?", parameters });
    expect((await ask(["1", "b"])).outputs.main).toEqual([{ n: 1 }, { n: 2 }]);
    expect((await ask([null, "a?"])).outputs.main).toEqual([{ n: 1 }]);
    await expect(ask([1])).rejects.toMatchObject({ code: "sql_refused" });
  });

  test("query_sql is ended when the run stops", async () => {
    const stop = new AbortController();
    const slow = "select count(*) from generate_series(1, 1000000000)";
    const running = query({ sql: slow }, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("stopped")), 300);
    await expect(running).rejects.toThrow("stopped");
  });

  test("write_sql inserts typed values under quoted names, over several transactions, and passes rows on", async () => {
    const rows = Array.from({ length: 1_200 }, (_, n) => ({
      ...{ n, note: `it's "${n}"`, extra: { n }, at: "2026-11-23T10:00:00Z", ok: n % 2 === 0 },
    }));
    const columns = { 'k "1': "n", note: "note", more: "extra", at: "at", ok: "ok" };
    const { outputs } = await write({ table: place, columns }, { rows });
    expect(outputs.main).toEqual(rows);
    const all = await stored();
    expect(all).toHaveLength(1_200);
    expect(all[7]).toEqual({
      ...{ 'k "1': 7, note: `it's "7"`, more: { n: 7 }, ok: false },
      at: new Date("2026-11-23T10:00:00Z"),
    });
    // Without a key a repeated try adds rows again, which the table refuses.
    await expect(write({ table: place, columns }, { rows })).rejects.toMatchObject({
      name: "StepFailure",
      isRetryable: false,
    });
    expect(await stored()).toHaveLength(1_200);
  });

  test("write_sql with a key replaces rows, of those with one key by the last", async () => {
    const columns = { 'k "1': "n", note: "note" };
    const rows = [{ n: 7, note: "first" }, { n: 5_000 }, { n: 7, note: "last" }];
    const settings = { table: place, columns, key: ['k "1'] };
    await write(settings, { rows });
    await write(settings, { rows });
    const all = await stored();
    expect(all).toHaveLength(1_201);
    expect(all.find((row) => row['k "1'] === 7)).toMatchObject({ note: "last", more: { n: 7 } });
    expect(all.find((row) => row['k "1'] === 5_000)).toMatchObject({ note: null });
  });

  test("write_sql with a key writes every row whose key has a null, as a unique key allows", async () => {
    await owner`create table nullable (n text unique, total int)`;
    const columns = { n: "number", total: "total" };
    const rows = [
      { number: null, total: 1 },
      { number: null, total: 2 },
      { total: 3 },
      { number: "A", total: 4 },
      { number: "A", total: 5 },
    ];
    await write({ table: "nullable", columns, key: ["n"] }, { rows });
    const all = await owner`select n, total from nullable order by total`;
    expect(all.map(({ n, total }) => [n, total])).toEqual([
      ...[1, 2, 3].map((total) => [null, total]),
      ["A", 5],
    ]);
  });

  test("write_sql writes none of a transaction that one row fails, and names the cause", async () => {
    const columns = { id: "id", total: "total" };
    const rows = [
      { id: 100, total: 1 },
      { id: 101, total: "not a number" },
    ];
    await expect(write({ table: "orders", columns }, { rows })).rejects.toThrow(/not a number/);
    expect(await owner`select from orders where id >= 100`).toHaveLength(0);
    const drop = `orders"; drop table orders; --`;
    await expect(write({ table: drop, columns }, { rows })).rejects.toThrow(/does not exist/);
    expect(await owner`select from orders`).toHaveLength(50);
  });

  test("write_sql only tells in a test of the step, and refuses SQLite when saved", async () => {
    const done = await write(
      { table: "orders", columns: { id: "id" } },
      { rows: [{ id: 999 }], isTest: true },
    );
    expect(done.told).toEqual(["would write 1 rows to orders"]);
    expect(await owner`select from orders where id = 999`).toHaveLength(0);
    const settings = { connection: "file", table: "a", columns: { a: "a" }, key: [] };
    expect(await kinds().write.check?.(settings, {} as CheckContext)).toMatchObject([
      { field: "connection", message: expect.stringContaining("SQLite") },
    ]);
    expect(() => kinds().write.schema.parse({ ...settings, key: ["b"] })).toThrow();
  });
});

describe.runIf(existsSync("/usr/sbin/mariadbd"))("write_sql on a saved MariaDB connection", () => {
  let here: ConnectionsStage;
  beforeAll(async () => {
    maria = await startMariadbServer();
    await maria?.execute(
      "create database shop character set utf8mb4",
      "create user writer identified by 'a password of tests'",
      "grant all on shop.* to writer",
      "create table shop.`odd ``table` (id int primary key, note varchar(10), more json, ok bool) engine = innodb",
    );
    here = await openConnectionsStage();
    const server = {
      host: "127.0.0.1",
      port: maria?.port ?? 0,
      database: "shop",
      tls: "off" as const,
    };
    await here.save({
      name: "shop",
      kind: "mysql",
      ...server,
      user: "writer",
      password: "a password of tests",
    });
  });
  afterAll(async () => {
    await here?.close();
    await maria?.remove();
  });

  test("inserts, replaces by a key, and refuses what would be cut", async () => {
    const services = { connections: here.connections } as unknown as StepServices;
    const settings = {
      ...{ connection: "shop", table: "odd `table", key: ["id"] },
      columns: { id: "id", note: "note", more: "more", ok: "ok" },
    };
    const step = (rows: readonly JsonObject[]) =>
      runStep(writeSqlStep(services), { settings, rows });
    await step([
      { id: 1, note: "it's \\ 'x'", more: { a: [1] }, ok: true },
      { id: 2, note: "🎉" },
    ]);
    await step([{ id: 2, note: "again", ok: false }]);
    const saved = here.connections.saved.find("shop");
    if (saved === undefined) throw new Error("not saved");
    const { rows } = await here.read(
      saved,
      "select id, note, more, ok from `odd ``table` order by id",
    );
    expect(rows).toEqual([
      [1, "it's \\ 'x'", { a: [1] }, 1],
      [2, "again", null, 0],
    ]);
    const said = "it's \\' or 1 -- 🎉";
    const asked = await here.read(
      saved,
      "select id, '?''' as mark, ? as said, ? as n -- ?\nfrom `odd ``table` where note = ? or ok = ? order by id",
      { parameters: [said, -5, "again", true] },
    );
    expect(asked.rows).toEqual([
      [1, "?'", said, -5],
      [2, "?'", said, -5],
    ]);
    await expect(step([{ id: 3, note: "longer than ten" }])).rejects.toThrow(/too long/);
    expect((await here.read(saved, "select id from `odd ``table`")).rows).toHaveLength(2);
  });
});
