import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import type { SavedConnection } from "../../../src/tools/connections/connection.ts";
import { openSqliteDriver } from "../../../src/tools/connections/drivers/sqlite-session.ts";
import {
  type ConnectionsStage,
  failureOf,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";

interface TestDatabase {
  exec(sql: string): void;
  close(): void;
}
const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as {
  readonly Database: new (path: string) => TestDatabase;
};

let stage: ConnectionsStage;
let shop: SavedConnection;

function makeDatabase(path: string, sql: string): void {
  const database = new Database(path);
  database.exec(sql);
  database.close();
}

const save = (file: string) =>
  stage.save({ name: `connection of ${file}`, kind: "sqlite", file: `workspace/${file}` });

beforeAll(async () => {
  stage = await openConnectionsStage();
  mkdirSync(join(stage.workspace, "deep"));
  makeDatabase(
    join(stage.workspace, "deep", "shop.db"),
    `create table orders (id integer primary key, total real, note text);
     with recursive n(i) as (select 1 union all select i + 1 from n where i < 50)
       insert into orders select i, i * 1.5, 'order ' || i from n;
     create view late as select id from orders where id > 40;`,
  );
  shop = await save("deep/shop.db");
});
afterAll(() => stage.close());

it("shows each value in a stable form", async () => {
  const sql = `select 1 as a, 2 as a, 9007199254740991, 9007199254740993, 1.5, 9e999, 'Grüße 🎉', x'6869', null`;
  const { columns, rows, isCut } = await stage.read(shop, sql);
  expect(columns.slice(0, 2)).toEqual(["a", "a"]);
  expect(rows).toEqual([
    [1, 2, 9007199254740991, "9007199254740993", 1.5, "Infinity", "Grüße 🎉", "\\x6869", null],
  ]);
  expect(isCut).toBe(false);
});

it("reads no more rows than asked for, and says that there are more", async () => {
  const cut = await stage.read(shop, "select id from orders order by id", { maxRows: 2 });
  expect(cut).toEqual({ columns: ["id"], rows: [[1], [2]], isCut: true });
  const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n";
  expect((await stage.read(shop, endless, { maxRows: 3 })).rows).toEqual([[1], [2], [3]]);
  const whole = await stage.read(shop, "select id from orders", { maxRows: 50 });
  expect([whole.rows.length, whole.isCut]).toEqual([50, false]);
});

it("neither writes nor opens another file, whatever the statement is", async () => {
  makeDatabase(
    join(stage.workspace, "other.db"),
    "create table secret (a); insert into secret values ('canary')",
  );
  const path = join(stage.workspace, "deep", "shop.db");
  const before = readFileSync(path);
  for (const sql of [
    "insert into orders values (99, 1, '')",
    "create table other (a)",
    "create temp table other (a)",
    `attach '${join(stage.workspace, "other.db")}' as other`,
    `vacuum into '${join(stage.workspace, "copy.db")}'`,
    "select load_extension('/etc/hostname')",
    "select nothing from orders",
    "",
  ]) {
    const failure = await failureOf(stage.read(shop, sql));
    expect([sql, failure]).toMatchObject([sql, { code: "invalid_value" }]);
  }
  // Only the first statement of a text is prepared.
  await stage.read(shop, "select 1; delete from orders");
  await stage.read(shop, "pragma journal_mode = wal").catch(() => undefined);
  expect(readFileSync(path).equals(before)).toBe(true);
  expect(readdirSync(join(stage.workspace, "deep"))).toEqual(["shop.db"]);
  expect(readdirSync(stage.workspace)).not.toContain("copy.db");
});

it("ends a query at its time and when the call is aborted", async () => {
  const endless =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n";
  const late = await failureOf(stage.read(shop, endless, { timeoutMs: 1_000 }));
  expect(late).toMatchObject({ code: "upstream_timeout" });
  const ending = new AbortController();
  const reason = new Error("the client left");
  const reading = failureOf(stage.read(shop, endless, { signal: ending.signal }));
  ending.abort(reason);
  expect(await reading).toBe(reason);
  expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
});

it.each([
  ["one value", "select zeroblob(900000000)"],
  ["a row", "select hex(zeroblob(10000000))"],
  ["many rows", "select hex(zeroblob(1000000)) from orders"],
])("takes neither the memory nor the bytes of %s that is too large", async (_what, sql) => {
  const failure = await failureOf(stage.read(shop, sql, { maxRows: 200, timeoutMs: 60_000 }));
  expect(failure).toMatchObject({ code: "invalid_value" });
  expect(failure.message).toMatch(/too large|larger than|too much memory|too big|out of memory/);
});

it("reads one connection at a time, so that its endless queries hold up no other one", async () => {
  makeDatabase(join(stage.workspace, "other.db"), "create table t (n); insert into t values (7)");
  const other = await save("other.db");
  const endless =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n";
  const leaving = new AbortController();
  const asked = [1, 2, 3, 4].map(() =>
    failureOf(stage.read(shop, endless, { signal: leaving.signal, timeoutMs: 60_000 })),
  );
  // It would wait for its turn behind them until their time is over.
  const { rows } = await stage.read(other, "select n from t", { timeoutMs: 20_000 });
  expect(rows).toEqual([[7]]);
  leaving.abort(new Error("left"));
  expect(await Promise.all(asked)).toHaveLength(4);
  const again = await stage.read(shop, "select count(*) from orders", { timeoutMs: 20_000 });
  expect(again.rows).toEqual([[50]]);
});

it("reads a file whose format has a write-ahead log without making one", async () => {
  const path = join(stage.workspace, "log.db");
  makeDatabase(path, "create table t (a); insert into t values (1)");
  // The version numbers of the format say that there is a log; none is there.
  const bytes = readFileSync(path);
  bytes[18] = 2;
  bytes[19] = 2;
  writeFileSync(path, bytes);
  const saved = await save("log.db");
  expect((await stage.read(saved, "select a from t")).rows).toEqual([[1]]);
  expect(readdirSync(stage.workspace).filter((name) => name.startsWith("log.db"))).toEqual([
    "log.db",
  ]);
});

it("describes tables and views with their columns", async () => {
  const signal = new AbortController().signal;
  expect(await stage.connections.saved.describe(shop, signal)).toEqual([
    { name: "late", columns: [{ name: "id", type: "INTEGER" }] },
    {
      name: "orders",
      columns: [
        { name: "id", type: "INTEGER" },
        { name: "total", type: "REAL" },
        { name: "note", type: "TEXT" },
      ],
    },
  ]);
});

it("reads files of its connection alone, and only databases", async () => {
  const { workspace, dataDir } = stage;
  makeDatabase(join(dataDir, "own.db"), "create table t (a)");
  symlinkSync(join(dataDir, "own.db"), join(workspace, "link.db"));
  writeFileSync(join(workspace, "text.db"), "no database, but long enough to be one");
  writeFileSync(join(workspace, "empty.db"), "");
  writeFileSync(
    join(workspace, "broken.db"),
    Buffer.concat([
      readFileSync(join(workspace, "deep/shop.db")).subarray(0, 100),
      Buffer.alloc(8_000, 255),
    ]),
  );
  execFileSync("sh", ["-c", `mkfifo "$0"`, join(workspace, "pipe.db")]);
  for (const [file, words] of [
    ["link.db", /no 'link.db'/],
    ["missing.db", /no 'missing.db'/],
    ["text.db", /no SQLite database/],
    ["empty.db", /no SQLite database/],
    ["broken.db", /malformed|not a database/],
    ["deep", /no regular file|EISDIR/],
    ["pipe.db", /no regular file/],
  ] as const) {
    const failure = await failureOf(stage.read(await save(file), "select * from sqlite_schema"));
    expect([file, failure.message]).toEqual([file, expect.stringMatching(words)]);
    expect(failure.name).toBe("ServiceError");
  }
});

it("reads nothing through a link that took the place of a folder after it was checked", async () => {
  const { workspace } = stage;
  symlinkSync("deep", join(workspace, "swapped"));
  const files = { resolve: async () => join(realpathSync(workspace), "swapped", "shop.db") };
  const driver = openSqliteDriver({ files });
  try {
    const session = await driver.open(
      { connection: shop, password: null },
      new AbortController().signal,
    );
    const query = { sql: "select 1", maxRows: 1, maxBytes: 1_000, timeoutMs: 60_000 };
    expect((await failureOf(session.read(query))).message).toMatch(/place has changed/);
  } finally {
    driver.close();
  }
});

it("does not read the gateway's own files through a folder above them", async () => {
  const { dataDir, workspace } = stage;
  const settings = { DATA_DIR: dataDir, WORKSPACE_DIR: workspace, WATCH_DIRS: [dataDir] };
  const driver = openSqliteDriver({ files: openFileConnections(settings) });
  const opening = (file: string) => {
    const connection = { ...shop, file };
    return driver.open({ connection, password: null }, new AbortController().signal);
  };
  makeDatabase(join(dataDir, "state.db"), "create table t (a)");
  try {
    expect((await failureOf(opening(`${basename(dataDir)}/state.db`))).message).toMatch(/has no/);
    expect((await opening("workspace/deep/shop.db")).isUsable()).toBe(true);
  } finally {
    driver.close();
  }
});
