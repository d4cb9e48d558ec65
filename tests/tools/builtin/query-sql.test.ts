import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Caller } from "../../../src/core/callers/caller.ts";
import type { Assistant } from "../../../src/knowledge/assistants/assistant.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { FUNCTION_CATALOG_SQL } from "../../../src/lib/sql-gate/postgres/function-catalog.ts";
import { createQuerySql } from "../../../src/tools/builtin/query-sql.ts";
import type {
  ReadQuery,
  SavedConnection,
  SavedConnections,
} from "../../../src/tools/connections/connection.ts";
import type { NewConnection } from "../../../src/tools/connections/connection-fields.ts";
import { runTool } from "../../../src/tools/run-tool.ts";
import type { ToolResult } from "../../../src/tools/tool.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startMariadbServer } from "../../support/servers/databases/mariadb-server.ts";
import { createDatabase } from "../../support/servers/databases/test-database.ts";
import { MYSQL_READS, MYSQL_REFUSED, MYSQL_TABLES } from "../../support/sql/mysql-statements.ts";
import {
  POSTGRES_READS,
  POSTGRES_REFUSED,
  POSTGRES_TABLES,
} from "../../support/sql/postgres-statements.ts";
import {
  SQLITE_READS,
  SQLITE_REFUSED,
  SQLITE_TABLES,
} from "../../support/sql/sqlite-statements.ts";
import { keyCaller, sessionCaller, testAssistant } from "../../support/stages/assistants.ts";
import {
  type ConnectionsStage,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";

const MAX_ROWS = 5;
const MAX_BYTES = 20_000;

/** A database with the tables of its statements; the user may do whatever its server allows anybody. */
interface Example {
  readonly fields: Omit<NewConnection, "name">;
  /** Runs a statement past the tool. */
  readonly execute: (sql: string) => Promise<unknown>;
  readonly remove: () => Promise<void>;
}

interface Kind {
  readonly kind: string;
  readonly isHere: boolean;
  readonly open: (stage: ConnectionsStage) => Promise<Example>;
  readonly reads: readonly string[];
  readonly refused: readonly string[];
  /** They have no end, or a gigabyte, and are cut by rows, bytes or time. */
  readonly huge: readonly (readonly [string, RegExp])[];
  readonly failing: readonly [string, RegExp];
}

const RECURSION = "with recursive n(i) as (select 1 union all select i + 1 from n)";

const kinds: readonly Kind[] = [
  {
    kind: "PostgreSQL",
    isHere: databaseServerUrl !== undefined,
    open: openPostgresExample,
    reads: POSTGRES_READS,
    refused: POSTGRES_REFUSED,
    huge: [
      ["select repeat('x', 1000000000)", /longer than 0.5 s|took too long|larger than 16 MiB/],
      ["select repeat('x', 40000000)", /larger than 16 MiB/],
      [
        "select i, repeat('x', 1000000) from generate_series(1, 1000) i",
        /larger than 16 MiB|^The first/,
      ],
      [
        "select (repeat('[', 6000) || repeat(']', 6000))::json as deep, 1 as n",
        /^1 row\.\n\["deep","n"\]\n\["\[{200}/,
      ],
      [
        "select (repeat('[', 65) || repeat(']', 65))::jsonb as deep, '[[1]]'::jsonb as flat",
        /^1 row\.\n\["deep","flat"\]\n\["\[{65}\]{65}",\[\[1\]\]\]$/,
      ],
      ["select generate_series(1, 1000000000)", /^The first 5 rows; there are more/],
      [`${RECURSION} select i from n`, /^The first 5 rows; there are more/],
      [`${RECURSION} select count(*) from n`, /longer than 0.5 s|took too long/],
      ["select count(*) from generate_series(1, 1000000000000)", /longer than 0.5 s|took too long/],
    ],
    failing: ["select nothing from orders", /column "nothing" does not exist/],
  },
  {
    kind: "MariaDB",
    isHere: existsSync("/usr/sbin/mariadbd"),
    open: openMariadbExample,
    reads: MYSQL_READS,
    refused: MYSQL_REFUSED,
    huge: [
      ["select repeat('x', 900000000)", /longer than 0.5 s|took too long|larger than 16 MiB/],
      ["select repeat('x', 40000000)", /larger than 16 MiB/],
      ["select seq from seq_1_to_100000000", /^The first 5 rows; there are more/],
      [
        "select count(*) from seq_1_to_100000000 a, seq_1_to_100000000 b",
        /longer than 0.5 s|took too long/,
      ],
    ],
    failing: ["select nothing from orders", /Unknown column 'nothing'/],
  },
  {
    kind: "SQLite",
    isHere: true,
    open: openSqliteExample,
    reads: SQLITE_READS,
    refused: SQLITE_REFUSED,
    huge: [
      [
        "select hex(zeroblob(400000000))",
        /longer than 0.5 s|took too long|larger than 16 MiB|too big|memory/i,
      ],
      ["select zeroblob(20000000)", /larger than 16 MiB/],
      [`${RECURSION} select i from n`, /^The first 5 rows; there are more/],
      [`${RECURSION} select count(*) from n`, /longer than 0.5 s|took too long/],
    ],
    failing: ["select no_such from orders", /no such column: no_such/],
  },
];

describe.each(kinds)("query_sql on $kind", ({ isHere, open, reads, refused, huge, failing }) => {
  describe.runIf(isHere)("with a saved connection", () => {
    let stage: ConnectionsStage;
    let example: Example;
    let call: Call;
    const canary = () => call({ sql: "select count(*), min(n) from canary" });
    const untouched = "1 row.\n";

    beforeAll(async () => {
      stage = await openConnectionsStage();
      example = await open(stage);
      await stage.save({ name: "Shop", ...example.fields });
      await stage.save({ name: "other", ...example.fields });
      call = toolOf(stage.connections.saved);
    });
    afterAll(async () => {
      await stage?.close();
      await example?.remove();
    });

    it("returns the rows as lines of JSON, after their number and the names of the columns", async () => {
      expect(await call({ sql: "select id, status from orders where id < 3 order by id" })).toEqual(
        {
          text: '2 rows.\n["id","status"]\n[1,"paid"]\n[2,"paid"]',
        },
      );
      expect(await call({ sql: "select id as one from orders where id = 1;" })).toEqual({
        text: '1 row.\n["one"]\n[1]',
      });
      expect(await call({ sql: "select id from orders where id < 0" })).toEqual({
        text: '0 rows.\n["id"]',
      });
    });

    it("returns no more rows than the setting and the call allow, and says that there are more", async () => {
      const sql = "select id from orders order by id";
      expect((await call({ sql })).text).toBe(
        'The first 5 rows; there are more. Aggregate, filter, or use LIMIT and OFFSET.\n["id"]\n[1]\n[2]\n[3]\n[4]\n[5]',
      );
      expect((await call({ sql, max_rows: 1 })).text).toMatch(/^The first 1 row; there are more/);
      expect((await call({ sql, max_rows: 6 })).text).toMatch(/'max_rows' must be <= 5/);
    });

    it("shows long values by their beginning, and as many rows as the result has room for", async () => {
      const long =
        "replace('aaaaaaaaaa', 'a', replace('aaaaaaaaaa', 'a', replace('aaaaaaaaaa', 'a', '1234567')))";
      const one = await call({ sql: `select ${long} as v` });
      expect(one.text).toMatch(/^1 row\.\n\["v"\]\n\["(1234567)+123… \[cut: 7000 characters\]"\]$/);
      const all = await call({ sql: `select ${long} as v, ${long} as w from orders` });
      expect(all.text).toMatch(/^The first 2 rows of 5 or more, because the result is too long/);
      expect(Buffer.byteLength(all.text)).toBeLessThan(MAX_BYTES);
    });

    it("runs what people write to read", async () => {
      const failures: unknown[] = [];
      for (const sql of reads) {
        const { text, isError } = await call({ sql });
        if (isError === true) failures.push([sql, text]);
      }
      expect(failures).toEqual([]);
    });

    it("refuses whatever does more than read before the database sees it", async () => {
      const seen: string[] = [];
      const onRead = (sql: string) => void seen.push(sql);
      for (const sql of refused.filter((one) => one !== "")) {
        expect([sql, await call({ sql }, { onRead })]).toEqual([
          sql,
          {
            isError: true,
            text: expect.stringMatching(/^The statement was refused and did not run\. ./),
          },
        ]);
      }
      expect(seen).toEqual([]);
      expect((await canary()).text.startsWith(untouched)).toBe(true);
    });

    it("returns the database's own words for a statement that it cannot run", async () => {
      const [sql, words] = failing;
      const { text, isError } = await call({ sql });
      expect(text).toMatch(/^Tool 'query_sql': Saved connection 'Shop': /);
      expect(text).toMatch(words);
      expect(isError).toBe(true);
    });

    it("cuts what has no end, and the connection can be used afterwards", async () => {
      for (const [sql, words] of huge) {
        const { text } = await call(
          { sql },
          { most: `${words}`.includes("longer") ? 500 : 15_000 },
        );
        expect([sql, text.slice(0, 300)]).toEqual([sql, expect.stringMatching(words)]);
        expect((await canary()).text.startsWith(untouched)).toBe(true);
      }
    });

    it("ends its query when the call ends", async () => {
      const ending = new AbortController();
      const reason = new Error("the client left");
      let started: () => void = () => undefined;
      const reading = new Promise<void>((resolve) => {
        started = resolve;
      });
      const running = call(
        { sql: huge.at(-1)?.[0] ?? "" },
        { signal: ending.signal, onRead: started },
      );
      await reading;
      ending.abort(reason);
      await expect(running).rejects.toBe(reason);
      expect((await canary()).text.startsWith(untouched)).toBe(true);
    });

    it("finds its connection by name, whatever the case, and needs none where there is one", async () => {
      const sql = "select 1 as one";
      const both = { assistant: { sqlConnections: ["Shop", "other"] } };
      expect((await call({ sql, connection: " SHOP " }, both)).text).toMatch(/^1 row/);
      expect(await call({ sql }, both)).toEqual({
        isError: true,
        text: "Argument 'connection' is missing. The connections are 'other', 'Shop'.",
      });
      expect(await call({ sql, connection: "other" })).toEqual({
        isError: true,
        text: "There is no connection 'other' here. The connections are 'Shop'.",
      });
      const narrow: Caller = {
        ...keyCaller("usr_1"),
        toolScope: { tools: ["*"], sql_connections: ["other"] },
      };
      expect((await call({ sql }, { caller: narrow })).text).toMatch(/^No saved connection/);
      expect((await call({ sql }, { ...both, caller: narrow })).text).toMatch(/^1 row/);
    });
  });
});

describe.runIf(databaseServerUrl !== undefined)("query_sql on PostgreSQL", () => {
  it("reads the functions of a database once a minute, and anew for a changed connection", async () => {
    const stage = await openConnectionsStage();
    const example = await openPostgresExample();
    try {
      await stage.save({ name: "Shop", ...example.fields });
      let now = 0;
      let catalogs = 0;
      const { saved } = stage.connections;
      const counted: SavedConnections = {
        ...saved,
        read(connection, given) {
          if (isCatalog(given)) catalogs += 1;
          return saved.read(connection, given);
        },
      };
      const tool = createQuerySql({
        saved: counted,
        settings: { TOOL_QUERY_SQL_MAX_ROWS: MAX_ROWS, TOOL_RESULT_MAX_BYTES: MAX_BYTES },
        clock: { now: () => now },
      });
      const ask = (sql: string) => tool.run({ sql }, contextOf({}));
      await Promise.all([ask("select 1"), ask("select 2")]);
      expect(catalogs).toBe(1);
      await example.execute(
        "create function fresh() returns int stable language sql as 'select 7'",
      );
      expect((await ask("select fresh()")).text).toMatch(/no function fresh/);
      now += 60_000;
      expect((await ask("select fresh() as f")).text).toBe('1 row.\n["f"]\n[7]');
      expect(catalogs).toBe(2);
      await stage.save({ name: "another", ...example.fields });
      await ask("select 1");
      expect(catalogs).toBe(3);
    } finally {
      await stage.close();
      await example.remove();
    }
  });
});

interface Options {
  readonly caller?: Caller;
  readonly assistant?: Partial<Assistant>;
  readonly signal?: AbortSignal;
  /** Shortens the time of the query, in milliseconds. */
  readonly most?: number;
  readonly onRead?: (sql: string) => void;
}

function contextOf({ caller, assistant, signal }: Options) {
  return {
    caller: caller ?? sessionCaller("usr_1"),
    assistant: testAssistant(1, { sqlConnections: ["shop"], ...assistant }),
    signal: signal ?? new AbortController().signal,
  };
}

type Call = (args: JsonObject, options?: Options) => Promise<ToolResult>;

/** Calls the tool of these connections as a model does, one call at a time. */
function toolOf(saved: SavedConnections): Call {
  let options: Options = {};
  const read = (connection: SavedConnection, given: ReadQuery) => {
    if (isCatalog(given)) return saved.read(connection, given);
    expect(given.timeoutMs).toBe(15_000);
    options.onRead?.(given.sql);
    return saved.read(connection, { ...given, timeoutMs: options.most ?? 15_000 });
  };
  const tool = createQuerySql({
    saved: { ...saved, read },
    settings: { TOOL_QUERY_SQL_MAX_ROWS: MAX_ROWS, TOOL_RESULT_MAX_BYTES: MAX_BYTES },
    clock: { now: () => 0 },
  });
  const limits = { timeoutMs: 60_000, maxResultBytes: MAX_BYTES };
  return (args, given = {}) => {
    options = given;
    return runTool(tool, args, contextOf(given), limits);
  };
}

function isCatalog({ sql }: ReadQuery): boolean {
  return sql === FUNCTION_CATALOG_SQL;
}

async function openPostgresExample(): Promise<Example> {
  const own = await createDatabase(databaseServerUrl as string);
  const client = postgres(own.url, { max: 1, onnotice: () => undefined });
  for (const statement of POSTGRES_TABLES) await client.unsafe(statement);
  await client.unsafe("insert into canary values (1)");
  const { hostname, port, pathname, username, password } = new URL(own.url);
  return {
    fields: {
      kind: "postgres",
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: username,
      password: password === "" ? null : password,
      tls: "off",
    },
    execute: (sql) => client.unsafe(sql),
    async remove() {
      await client.end();
      await own.drop();
    },
  };
}

async function openMariadbExample(): Promise<Example> {
  const server = await startMariadbServer();
  if (server === undefined) throw new Error("MariaDB did not start");
  await server.execute(
    "create database shop character set utf8mb4",
    "create user reader identified by 'the reader'",
    "grant all on *.* to reader",
    "use shop",
    ...MYSQL_TABLES,
  );
  return {
    fields: {
      kind: "mysql",
      host: "127.0.0.1",
      port: server.port,
      database: "shop",
      user: "reader",
      password: "the reader",
      tls: "off",
    },
    execute: (sql) => server.execute("use shop", sql),
    remove: server.remove,
  };
}

async function openSqliteExample({ workspace }: ConnectionsStage): Promise<Example> {
  const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as {
    readonly Database: new (path: string) => { exec(sql: string): void; close(): void };
  };
  const path = join(workspace, "shop.db");
  const execute = async (sql: string) => {
    const database = new Database(path);
    database.exec(sql);
    database.close();
  };
  await execute(SQLITE_TABLES);
  return {
    fields: { kind: "sqlite", file: "workspace/shop.db" },
    execute,
    remove: async () => undefined,
  };
}
