import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";

vi.setConfig({ testTimeout: 200_000, hookTimeout: 200_000 });

/** Each of them would write, wait, lock, tell others, read files or leave the role. */
const FORBIDDEN = [
  "begin read write",
  "set default_transaction_read_only = off",
  "set statement_timeout = 0",
  "select pg_advisory_lock(1)",
  "listen anything",
  "select pg_notify('anything', '')",
  "select lo_creat(-1)",
  "copy (select 1) to stdout",
  "do $$ begin end $$",
  "select query_to_xml('select 1', true, true, '')",
  "select pg_terminate_backend(1)",
  "set work_mem = '1GB'",
  "select pg_read_file('/etc/passwd')",
  "set role postgres",
  "reset role",
  "select pg_sleep(60)",
  "create table written (a int)",
];

interface Issued {
  readonly id: string;
  readonly key: string;
  readonly port: number;
}

// On the database of the run, PostgreSQL or the embedded one's copy.
describe("B01 to B05: the PostgreSQL port of a real gateway", () => {
  let gateway: TestGateway;
  let token: string;
  const clients: pg.Client[] = [];

  beforeAll(async () => {
    gateway = await startGateway({
      ADMIN_PASSWORD: "a good password",
      BIKEY_PG_PROXY_ENABLED: "1",
      BIKEY_PG_PROXY_PORT: "0",
    });
    token = await logIn(gateway.url, "admin", "a good password");
    await untilOpen();
  });
  afterAll(async () => {
    for (const client of clients) await client.end().catch(() => undefined);
    await gateway?.stop();
  });

  const untilOpen = () =>
    vi.waitFor(
      async () => {
        const { body } = await callHttp(gateway.url, { path: "/api/ready" });
        expect(body.bi).toBe("open");
      },
      { timeout: 100_000, interval: 50 },
    );
  const issue = async (fields: object = {}): Promise<Issued> => {
    const { body } = await callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/bi-keys", token },
      body: { name: "report", datasets: ["*"], ...fields },
    });
    return { id: body.id, key: body.key, port: Number(new URL(body.connections.uri).port) };
  };
  const change = (method: string, { id }: Issued, body?: object) =>
    callHttp(gateway.url, { method, path: `/v1/bi-keys/${id}`, token, body });
  const open = async ({ key, port }: Pick<Issued, "key" | "port">) => {
    const client = new pg.Client({
      ...{ host: "127.0.0.1", port, user: "any", database: "any", password: key },
      connectionTimeoutMillis: 60_000,
    });
    const ended = new Promise<string>((resolve) => {
      let code = "none";
      client.on("error", (error: Error & { readonly code?: string }) => {
        code = error.code ?? code;
      });
      client.on("end", () => resolve(code));
    });
    clients.push(client);
    await client.connect();
    return { client, ended };
  };
  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "ok",
      (thrown: { readonly code?: string }) => thrown.code ?? String(thrown),
    );
  const ask = (key: string, sql: string) =>
    callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/data/query", body: { sql } },
      headers: { authorization: `Bearer ${key}` },
    });

  it("B01 refuses all that does not read, three ways, and goes on", async () => {
    const issued = await issue();
    const { client } = await open(issued);
    for (const sql of FORBIDDEN) {
      expect([sql, await codeOf(client.query(sql))]).toEqual([sql, "42501"]);
      const extended = client.query({ name: sql.slice(0, 20), text: sql, values: [] });
      expect([sql, await codeOf(extended)]).toEqual([sql, "42501"]);
      expect([sql, (await ask(issued.key, sql)).status]).toEqual([sql, 403]);
    }
    expect((await client.query("select count(*)::int as n from data.keys")).rows).toEqual([
      { n: 1 },
    ]);
    const { rows } = await client.query("show transaction_read_only");
    expect(rows).toEqual([{ transaction_read_only: "on" }]);
  });

  it.each([
    ["deleted", "DELETE", undefined],
    ["made inactive", "PATCH", { state: "inactive" }],
    ["bound to another address", "PATCH", { ip_allow: ["192.0.2.1"] }],
  ])(
    "B02 ends the connections of a key that is %s, and lets no new one in",
    async (_, method, body) => {
      const issued = await issue();
      const other = await open(await issue());
      const { ended } = await open(issued);
      const before = performance.now();
      const answer = await change(method, issued, body);
      expect([200, 204]).toContain(answer.status);
      expect(await ended).toBe("57P01");
      // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
      console.info(`B02 gone after ${Math.round(performance.now() - before)} ms`);
      expect(await codeOf(open(issued))).toMatch(/^28(P01|000)$/);
      expect((await other.client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    },
  );

  it("B04 cuts at the rows of the key, and a key reads its own datasets alone", async () => {
    const issued = await issue({ row_limit: 10, datasets: ["keys"] });
    const { client } = await open(issued);
    expect(await codeOf(client.query("select * from generate_series(1, 11)"))).toBe("54000");
    expect(await codeOf(client.query("select * from generate_series(1, 10)"))).toBe("ok");
    expect(await codeOf(client.query("select * from data.keys"))).toBe("ok");
    expect(await codeOf(client.query("select * from data.users"))).toBe("42501");
    expect((await ask(issued.key, "select * from data.users")).status).not.toBe(200);
  });

  it("B05 keys open only what they are for", async () => {
    const { key, port } = await issue();
    expect(await codeOf(open({ key: "sk-test-0123456789abcdefghijklmnopqrstuvwxyz", port }))).toBe(
      "28P01",
    );
    const { status } = await callHttp(gateway.url, {
      ...{ method: "POST", path: "/v1/chat/completions", body: { model: "m", messages: [] } },
      headers: { authorization: `Bearer ${key}` },
    });
    expect([401, 403]).toContain(status);
  });

  const start = (text: string) => {
    const pairs = Buffer.from(`user\0any\0${text}\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(pairs.length + 8, 0);
    head.writeInt32BE(196_608, 4);
    return Buffer.concat([head, pairs]);
  };
  const length = (bytes: number) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(bytes, 0);
    return head;
  };
  it.each([
    ["garbage", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a length of 0", length(0)],
    ["a length of 3", length(3)],
    ["a length of 2^31", length(2 ** 31)],
    ["a second StartupMessage", Buffer.concat([start(""), start("")])],
    ["options=-c=", start("options\0-c=\0")],
    ["a NUL in a name", start("data\0base\0\0x\0")],
  ])("B03 closes a connection for %s", async (_, bytes) => {
    const issued = await issue();
    const socket = connect(issued.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(bytes);
    await closed;
    const { client } = await open(issued);
    expect(await codeOf(client.query("select 1"))).toBe("ok");
  });

  it("the port comes back when its process is killed", async () => {
    const issued = await issue();
    const { ended } = await open(issued);
    const pid = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .find((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, "utf8");
          const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
          const command = readFileSync(`/proc/${name}/cmdline`, "utf8");
          return Number(parent) === gateway.pid && /port.program/.test(command);
        } catch {
          return false;
        }
      });
    process.kill(Number(pid), "SIGKILL");
    const before = performance.now();
    await ended;
    await vi.waitFor(
      async () => {
        const { body } = await callHttp(gateway.url, { path: "/api/ready" });
        expect(body.bi).toBe("open");
        const again = await issue();
        expect(await codeOf(open(again))).toBe("ok");
      },
      { timeout: 100_000, interval: 50 },
    );
    // biome-ignore lint/suspicious/noConsole: the figure is what is asked for
    console.info(`the port is back after ${Math.round(performance.now() - before)} ms`);
  });
});
