import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SavedConnection } from "../../../src/tools/connections/connection.ts";
import {
  canMakeCertificates,
  makeCertificate,
  type TestCertificate,
} from "../../support/processes/make-certificate.ts";
import {
  type MariadbServer,
  startMariadbServer,
} from "../../support/servers/databases/mariadb-server.ts";
import {
  type ConnectionsStage,
  failureOf,
  openConnectionsStage,
} from "../../support/stages/tools/connections-stage.ts";

const soon = { timeout: 20_000, interval: 20 };
const PASSWORD = "canary: the reader's own";
let certificate: TestCertificate | undefined;
let server: MariadbServer;
let stage: ConnectionsStage;
let shop: SavedConnection;

const fields = () => ({
  kind: "mysql" as const,
  host: "127.0.0.1",
  port: server.port,
  database: "shop",
  user: "reader",
  password: PASSWORD,
  tls: "off" as const,
});

describe.runIf(existsSync("/usr/sbin/mariadbd"))("a saved connection to MariaDB", () => {
  beforeAll(async () => {
    certificate = canMakeCertificates ? makeCertificate("IP:127.0.0.1") : undefined;
    const started = await startMariadbServer(certificate && { tls: certificate });
    if (started === undefined) throw new Error("MariaDB did not start");
    server = started;
    await server.execute(
      "create database shop character set utf8mb4",
      "create database other",
      `create user reader identified by '${PASSWORD.replaceAll("'", "''")}'`,
      "grant all on shop.* to reader",
      "create table shop.orders (id int primary key, total decimal(10, 2), note varchar(100), extra json) engine = innodb",
      "insert into shop.orders select seq, seq * 1.5, concat('order ', seq), '{}' from (with recursive s as (select 1 seq union all select seq + 1 from s where seq < 50) select * from s) n",
      "create view shop.late as select id from shop.orders where id > 40",
      "create table other.hidden (a int)",
      // What checks statements does not know these modes of a server.
      "set global sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    );
    stage = await openConnectionsStage();
    shop = await stage.save({ name: "shop", ...fields() });
  });
  afterAll(async () => {
    await stage?.close();
    await server?.remove();
    certificate?.remove();
  });
  /** The reader's sessions at the server. */
  const sessions = async () =>
    (await server.execute(
      "select id, command, info from information_schema.processlist where user = 'reader'",
    )) as readonly {
      readonly id: number;
      readonly command: string;
      readonly info: string | null;
    }[];

  it("shows each value in a stable form", async () => {
    const { columns, rows } = await stage.read(
      shop,
      `select 1 as a, 2 as a, 9007199254740991, 9007199254740993, cast(18446744073709551615 as unsigned), 1.50, 1e0,
        extra, cast('2026-02-03' as date), cast('2026-02-03 04:05:06' as datetime), x'6869', null, true, 'Grüße 🎉',
        "a\\"b" from orders where id = 1`,
    );
    expect(columns.slice(0, 2)).toEqual(["a", "a"]);
    expect(rows).toEqual([
      [
        ...[1, 2, 9007199254740991, "9007199254740993", "18446744073709551615", "1.50", 1],
        ...[{}, "2026-02-03", "2026-02-03 04:05:06", "\\x6869", null, 1, "Grüße 🎉", 'a"b'],
      ],
    ]);
  });

  it("reads no more rows than asked for, and says that there are more", async () => {
    const sql = "select id from orders order by id";
    const cut = await stage.read(shop, sql, { maxRows: 3 });
    expect(cut).toEqual({ columns: ["id"], rows: [[1], [2], [3]], isCut: true });
    const limited = await stage.read(shop, `${sql} limit 1000`, { maxRows: 3 });
    expect(limited).toEqual(cut);
    const whole = await stage.read(shop, sql, { maxRows: 50 });
    expect([whole.rows.length, whole.isCut]).toEqual([50, false]);
    expect((await stage.read(shop, "select id from orders where false")).rows).toEqual([]);
    expect((await stage.read(shop, "show tables")).rows).toEqual([["late"], ["orders"]]);
    expect((await stage.read(shop, "explain select 1")).rows).toHaveLength(1);
  });

  it.each([
    ["insert into orders (id) values (99)", /READ ONLY transaction/],
    ["delete from orders", /READ ONLY transaction/],
    ["select 1; delete from orders", /syntax/],
    ["select nothing from orders", /Unknown column 'nothing'.*\(1054\)/],
    ["select * from other.hidden", /denied/],
    ["load data local infile '/etc/hostname' into table orders", /READ ONLY|not allowed|disabled/i],
  ])("refuses %s in the database's words, and stays usable", async (sql, words) => {
    const failure = await failureOf(stage.read(shop, sql));
    expect(failure).toMatchObject({ name: "ServiceError", code: "invalid_value" });
    expect(failure.message).toMatch(words);
    expect((await stage.read(shop, "select count(*) from orders")).rows).toEqual([[50]]);
  });

  it("leaves neither variables nor locks of a query behind", async () => {
    await stage.read(shop, "select @mine := 1, get_lock('mine', 1)");
    await expect
      .poll(async () => server.execute("select is_free_lock('mine') as free"), soon)
      .toEqual([{ free: 1 }]);
    expect((await stage.read(shop, "select @mine")).rows).toEqual([[null]]);
  });

  it("ends a query at its time at the server, though the query lifts its own", async () => {
    for (const sql of [
      "select sleep(600)",
      "set statement max_statement_time = 0 for select sleep(600)",
    ]) {
      const failure = await failureOf(stage.read(shop, sql, { timeoutMs: 300 }));
      expect(failure).toMatchObject({ code: "upstream_timeout" });
      await expect
        .poll(async () => (await sessions()).filter(({ info }) => /sleep/.test(info ?? "")), soon)
        .toEqual([]);
    }
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("ends a query at the server when the call is aborted, and uses the connection again", async () => {
    await stage.read(shop, "select 1");
    const ending = new AbortController();
    const reason = new Error("the client left");
    const reading = failureOf(stage.read(shop, "select sleep(600)", { signal: ending.signal }));
    const sleeping = async () => (await sessions()).find(({ info }) => /sleep/.test(info ?? ""));
    await expect.poll(sleeping, soon).toBeDefined();
    const id = (await sleeping())?.id;
    ending.abort(reason);
    expect(await reading).toBe(reason);
    await expect.poll(sleeping, soon).toBeUndefined();
    await expect
      .poll(async () => (await sessions()).find((one) => one.id === id)?.command, soon)
      .toBe("Sleep");
    const ids = await Promise.all(
      [1, 2, 3, 4].map(() => stage.read(shop, "select connection_id(), sleep(0.2)")),
    );
    expect(ids.map(({ rows }) => rows[0]?.[0])).toContain(id);
  });

  it.each([
    ["one value", "select repeat('x', 60000000)"],
    ["many values", "select repeat('x', 1000000) from orders"],
  ])("takes no more than its share of a result of megabytes in %s", async (_what, sql) => {
    const failure = await failureOf(stage.read(shop, sql, { maxRows: 200, timeoutMs: 60_000 }));
    expect(failure).toMatchObject({ code: "invalid_value" });
    expect(failure.message).toMatch(/larger than 16 MiB/);
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("connects again when the server has ended an idle session", async () => {
    await stage.read(shop, "select 1");
    await expect.poll(async () => (await sessions()).length, soon).toBeGreaterThan(0);
    for (const { id } of await sessions()) await server.execute(`kill ${id}`);
    expect((await stage.read(shop, "select 1")).rows).toEqual([[1]]);
  });

  it("describes tables and views with their columns, of its database alone", async () => {
    const signal = new AbortController().signal;
    expect(await stage.connections.saved.describe(shop, signal)).toEqual([
      { name: "late", columns: [{ name: "id", type: "int(11)" }] },
      {
        name: "orders",
        columns: [
          { name: "id", type: "int(11)" },
          { name: "total", type: "decimal(10,2)" },
          { name: "note", type: "varchar(100)" },
          { name: "extra", type: "longtext" },
        ],
      },
    ]);
    const all = await stage.save({ name: "all", ...fields(), database: null });
    const [first] = await stage.connections.saved.describe(all, signal);
    expect(first?.name).toBe("shop.late");
  });

  it("says that the password is wrong, without it", async () => {
    const wrong = await stage.save({ name: "wrong", ...fields(), password: "canary: another" });
    const failure = await failureOf(stage.read(wrong, "select 1"));
    expect(failure).toMatchObject({ code: "upstream_error" });
    expect(failure.message).toMatch(/Access denied for user 'reader'/);
    expect(failure.message).not.toMatch(/canary|127\.0\.0\.1/);
  });

  it.runIf(canMakeCertificates)(
    "checks the certificate and its host, unless told not to",
    async () => {
      const trusting = await openConnectionsStage({
        authorities: certificate?.pem ?? "",
        environment: { EGRESS_ALLOW: "127.0.0.0/8,localhost" },
      });
      const isSecure = "show session status like 'ssl_cipher'";
      try {
        const verified = await trusting.save({ name: "verified", ...fields(), tls: "verify" });
        const { rows } = await trusting.read(verified, isSecure);
        expect(rows[0]?.[1]).toMatch(/TLS/);
        const unknown = await stage.save({ name: "unknown authority", ...fields(), tls: "verify" });
        expect((await failureOf(stage.read(unknown, "select 1"))).message).toMatch(/TLS failed/);
        const any = await stage.save({ name: "any certificate", ...fields(), tls: "on" });
        expect((await stage.read(any, isSecure)).rows[0]?.[1]).toMatch(/TLS/);
        // The certificate names the address alone.
        const named = { ...fields(), host: "localhost", tls: "verify" as const };
        const wrong = await trusting.save({ name: "other host", ...named });
        expect((await failureOf(trusting.read(wrong, "select 1"))).message).toMatch(/TLS failed/);
      } finally {
        await trusting.close();
      }
    },
  );
});
