import { execFile } from "node:child_process";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import pg from "pg";
import postgres from "postgres";
import { afterEach, describe, expect, test } from "vitest";
import { EngineRefusal } from "../../../../src/data/port/engine.ts";
import type { ServeSession } from "../../../../src/data/port/session/served-session.ts";
import {
  ASKED,
  cancelKeyOf,
  cancelRequest,
  GSS_REQUEST,
  logInPlain,
  type PortStage,
  password,
  query,
  RawConnection,
  READY,
  SetClock,
  SSL_REQUEST,
  startPort,
  startup,
} from "./port-stage.ts";

const KEY = "bk-one";
const stages: PortStage[] = [];
const open = async (...options: Parameters<typeof startPort>): Promise<PortStage> => {
  const stage = await startPort(...options);
  stages.push(stage);
  stage.addKey(KEY);
  return stage;
};

afterEach(async () => {
  await Promise.all(stages.splice(0).map((stage) => stage.close()));
});

async function startTls(port: number, options: object = {}): Promise<RawConnection> {
  const plain = await RawConnection.open(port);
  plain.send(SSL_REQUEST);
  await plain.until("S");
  plain.socket.removeAllListeners("data");
  return secured(connectTls({ socket: plain.socket, rejectUnauthorized: false, ...options }));
}

async function secured(socket: TLSSocket): Promise<RawConnection> {
  const connection = RawConnection.over(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("closed")));
  });
  return connection;
}

describe("clients", () => {
  for (const sslNegotiation of ["postgres", "direct"] as const) {
    test(`pg logs in through TLS, ${sslNegotiation}`, async () => {
      const { port } = await open();
      const client = new pg.Client({
        ...{ host: "127.0.0.1", port, user: "any", password: KEY, database: "any" },
        ...{ ssl: { rejectUnauthorized: false }, sslNegotiation },
      } as pg.ClientConfig);
      await client.connect();
      expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      await client.end();
    });

    test(`postgres logs in through TLS, ${sslNegotiation}`, async () => {
      const { port } = await open();
      const sql = postgres({
        ...{ host: "127.0.0.1", port, user: "any", password: KEY, database: "any", max: 1 },
        ...{
          ssl: { rejectUnauthorized: false },
          fetch_types: false,
          sslnegotiation: sslNegotiation,
        },
      } as object);
      expect(await sql.unsafe("SELECT 1 AS one").simple()).toEqual([{ one: 1 }]);
      await sql.end();
    });
  }

  test("psql logs in with each way of TLS that it knows", async () => {
    const { port, opened } = await open();
    for (const mode of ["prefer", "require"]) {
      const { stdout } = await promisify(execFile)(
        "psql",
        [
          "-At",
          "-c",
          "SELECT 1",
          `host=127.0.0.1 port=${port} user=any dbname=any sslmode=${mode}`,
        ],
        { env: { PATH: "/usr/bin:/bin", PGPASSWORD: KEY, LANG: "C" } },
      );
      expect(stdout).toBe("1\n");
    }
    expect(opened[0]?.parameters).toEqual(
      new Map([
        ["application_name", "psql"],
        ["client_encoding", "UTF8"],
      ]),
    );
  });
});

describe("start-up", () => {
  test("GSS encryption is declined, and TLS may follow", async () => {
    const { port } = await open();
    const connection = await RawConnection.open(port);
    connection.send(GSS_REQUEST);
    await connection.until("N");
    connection.send(SSL_REQUEST);
    await connection.until("NS");
    connection.socket.destroy();
  });

  test("bytes that follow the request for TLS without encryption are refused", async () => {
    const { port, logins, lines } = await open();
    const connection = await RawConnection.open(port);
    connection.send(SSL_REQUEST, startup(), password(KEY));
    expect(await connection.untilClosed()).toBe("");
    expect(logins).toEqual([]);
    expect(lines.join()).toContain("without encryption");
  });

  test("direct TLS needs the ALPN protocol of PostgreSQL", async () => {
    const { port } = await open();
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    const connection = await secured(connectTls(options));
    expect(await connection.untilClosed()).toContain("08P01");
    await expect(secured(connectTls({ ...options, ALPNProtocols: ["h2"] }))).rejects.toThrow();
  });

  test("a later minor version and unknown options are negotiated down to 3.0", async () => {
    const { port } = await open();
    const connection = await RawConnection.open(port);
    connection.send(startup({ user: "any", "_pq_.other": "1" }, 0x3_00_02), password(KEY));
    const received = await connection.until(READY);
    expect(received.startsWith("v\0\0\0\x17\0\x03\0\0\0\0\0\x01_pq_.other\0")).toBe(true);
    connection.socket.destroy();
  });

  test("settings of the start reach the session and are reported", async () => {
    const { port, opened } = await open();
    const connection = await logInPlain(port, KEY, {
      ...{ user: "any", database: "any", timezone: "Europe/Paris", client_encoding: "'utf-8'" },
      options: "-c extra_float_digits=3 -csearch_path=data\\ ,\\ public --statement-timeout=5s",
    });
    expect(await connection.until(READY)).toContain("TimeZone\0Europe/Paris");
    expect(Object.fromEntries(opened[0]?.parameters ?? [])).toEqual({
      ...{ TimeZone: "Europe/Paris", client_encoding: "UTF8", extra_float_digits: "3" },
      ...{ search_path: "data", statement_timeout: "5s" },
    });
    connection.socket.destroy();
  });

  test.each([
    ["DATA,pg_catalog", "DATA, pg_catalog"],
    ['"$user", public, data', '"$user", data'],
    ["", ""],
  ])("a start with the search path %s looks in %s", async (sent, searched) => {
    const { port, opened } = await open();
    const connection = await logInPlain(port, KEY, { user: "any", search_path: sent });
    await connection.until(READY);
    expect(opened[0]?.parameters.get("search_path")).toBe(searched);
    connection.socket.destroy();
  });

  test("what the client sends after its password reaches the session", async () => {
    const { port } = await open();
    const connection = await RawConnection.open(port);
    connection.send(startup(), password(KEY), query("SELECT 1"));
    await connection.until("SELECT 1\0");
    connection.socket.destroy();
  });

  test.each([
    ["garbage in options", { user: "any", options: "-c=" }, "08P01"],
    ["another switch in options", { user: "any", options: "-B 5" }, "08P01"],
    ["a setting that is not allowed", { user: "any", options: "-c work_mem=1GB" }, "42501"],
    ["no timeout", { user: "any", statement_timeout: "0" }, "42501"],
    ["a longer timeout", { user: "any", statement_timeout: "1h" }, "42501"],
    ["another encoding", { user: "any", client_encoding: "SJIS" }, "22023"],
    ["replication", { user: "any", replication: "database" }, "0A000"],
    ["no user", { database: "any" }, "28000"],
    ["a schema of others", { user: "any", search_path: "data, finance" }, "42501"],
    ["the schema public alone", { user: "any", options: "-c search_path=Public" }, "42501"],
    ["a quoted schema", { user: "any", search_path: 'data,"Data"' }, "42501"],
  ])("a start with %s is refused", async (_case, parameters, code) => {
    const { port, opened, refused } = await open();
    const connection = await logInPlain(port, KEY, parameters as Record<string, string>);
    expect(await connection.untilClosed()).toContain(`C${code}\0`);
    expect(opened).toEqual([]);
    expect(refused).toEqual([code]);
  });

  test("a login that does not end in ten seconds is closed, in whatever state", async () => {
    const clock = new SetClock();
    const { port, lines, refused } = await open({}, { clock });
    const idle = await RawConnection.open(port);
    const slow = await RawConnection.open(port);
    slow.send(startup().subarray(0, 9));
    const asked = await RawConnection.open(port);
    asked.send(startup());
    await asked.until(ASKED);
    const unfinished = await RawConnection.open(port);
    unfinished.send(SSL_REQUEST);
    await unfinished.until("S");
    unfinished.send(Buffer.from([0x16, 3, 1]));
    const direct = await RawConnection.open(port);
    direct.send(Buffer.from([0x16, 3, 1, 2, 0]));
    await expect.poll(() => clock.timers).toBe(5);
    clock.move(10_000);
    const all = [idle, slow, asked, unfinished, direct];
    const answers = Promise.all(all.map((connection) => connection.untilClosed()));
    expect((await answers).map((answer) => answer.includes("C57014"))[2]).toBe(true);
    expect(refused).toEqual(all.map(() => "57014"));
    expect(lines).toHaveLength(1);
    await expect.poll(() => clock.timers).toBe(0);
  });
});

describe("login", () => {
  test("a key of models is refused with what to use", async () => {
    const { port, logins } = await open();
    const connection = await logInPlain(port, "sk-abc");
    expect(await connection.untilClosed()).toMatch(/C28P01\0.*bk-/s);
    expect(logins).toEqual([]);
  });

  test("after five wrong keys in a minute the server is not asked again", async () => {
    const clock = new SetClock();
    const { port, logins } = await open({}, { clock });
    const tries = await Promise.all(
      Array.from({ length: 20 }, async () => (await logInPlain(port, "bk-no")).untilClosed()),
    );
    expect(tries.every((answer) => answer.includes("C28P01"))).toBe(true);
    expect(logins).toHaveLength(5);
    expect(await (await logInPlain(port, KEY)).untilClosed()).toContain("60 seconds");
    clock.move(60_000);
    const connection = await logInPlain(port, KEY);
    await connection.until(READY);
    connection.socket.destroy();
  });

  test("a right key does not reset the count of wrong ones", async () => {
    const { port, logins } = await open({}, { clock: new SetClock() });
    for (let count = 0; count < 4; count += 1) {
      await (await logInPlain(port, "bk-no")).untilClosed();
    }
    const connection = await logInPlain(port, KEY);
    await connection.until(READY);
    connection.socket.destroy();
    await (await logInPlain(port, "bk-no")).untilClosed();
    await (await logInPlain(port, KEY)).untilClosed();
    expect(logins).toHaveLength(6);
  });

  test("an engine's refusal reaches the client with its code, and its place is free again", async () => {
    const { port, openCount } = await open(
      {},
      {
        engine: {
          open: () => Promise.reject(new EngineRefusal("57P03", "The database is away.", "Wait.")),
          close: async () => undefined,
        },
      },
    );
    expect(await (await logInPlain(port, KEY)).untilClosed()).toContain("C57P03");
    expect(openCount()).toBe(0);
  });
});

describe("caps", () => {
  test("a key gets its connections and no more, also at once", async () => {
    const stage = await open();
    stage.addKey("bk-two", { maxConnections: 3 });
    const tried = await Promise.all(
      Array.from({ length: 12 }, () => logInPlain(stage.port, "bk-two")),
    );
    const outcomes = await Promise.all(
      tried.map((connection) =>
        connection.until(READY).then(
          () => "in",
          () => (connection.received.includes("C53300") ? "refused" : "closed"),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "in")).toHaveLength(3);
    expect(outcomes.filter((outcome) => outcome === "refused")).toHaveLength(9);
    expect(stage.openCount()).toBe(3);
    for (const { socket } of tried) socket.destroy();
    await expect.poll(stage.openCount).toBe(0);
    expect(stage.engineSessions.size).toBe(0);
  });

  test("the port has its connections and no more, and idle ones that start take none", async () => {
    const stage = await open({ maxConnections: 2 });
    const idle = await Promise.all(
      Array.from({ length: 50 }, () => RawConnection.open(stage.port)),
    );
    const in1 = await logInPlain(stage.port, KEY);
    const in2 = await logInPlain(stage.port, KEY);
    await Promise.all([in1.until(READY), in2.until(READY)]);
    const third = await logInPlain(stage.port, KEY);
    expect(await third.untilClosed()).toContain("BIKEY_PG_MAX_CONNECTIONS");
    for (const { socket } of [in1, in2, ...idle]) socket.destroy();
    await expect.poll(stage.openCount).toBe(0);
  });
});

describe("cancel", () => {
  test("needs the connection's own secret", async () => {
    const { port } = await open();
    const [one, other] = [await logInPlain(port, KEY), await logInPlain(port, KEY)];
    const keys = [await one.until(READY), await other.until(READY)].map(cancelKeyOf);
    one.send(query("wait"));
    other.send(query("wait"));
    const cancel = async (processId: number, secret: number): Promise<string> => {
      const connection = await RawConnection.open(port);
      connection.send(cancelRequest(processId, secret));
      return connection.untilClosed();
    };
    expect(await cancel(keys[0]!.processId, keys[1]!.secret)).toBe("");
    expect(await cancel(keys[1]!.processId, keys[1]!.secret)).toBe("");
    await other.until("57014");
    expect(one.received).not.toContain("57014");
    one.socket.destroy();
    other.socket.destroy();
  });

  test("goes through TLS too", async () => {
    const { port } = await open();
    const one = await logInPlain(port, KEY);
    const { processId, secret } = cancelKeyOf(await one.until(READY));
    one.send(query("wait"));
    const canceller = await startTls(port);
    canceller.send(cancelRequest(processId, secret));
    await canceller.closed;
    await one.until("57014");
    one.socket.destroy();
  });
});

describe("ends", () => {
  test("the sessions of a principal end, and others go on", async () => {
    const stage = await open();
    stage.addKey("bk-two");
    const [one, two] = [await logInPlain(stage.port, KEY), await logInPlain(stage.port, "bk-two")];
    await Promise.all([one.until(READY), two.until(READY)]);
    stage.end(["bik_one"], "The key was revoked.");
    expect(await one.untilClosed()).toContain("C57P01\0MThe key was revoked.");
    two.send(query("SELECT 1"));
    await two.until("SELECT 1\0");
    two.socket.destroy();
  });

  test("an end that crosses the server's answer ends the login", async () => {
    const stage = await open();
    const { login } = stage.control;
    Object.assign(stage.control, {
      login: async (secret: string, address: string) => {
        const admission = await login(secret, address);
        stage.end(["bik_one"], "The key was revoked.");
        return admission;
      },
    });
    const connection = await logInPlain(stage.port, KEY);
    expect(await connection.untilClosed()).toContain("C57P01");
    expect(stage.opened).toEqual([]);
  });

  test("a session ends when its key expires, however far that is", async () => {
    const clock = new SetClock();
    const stage = await open({}, { clock });
    const days = 86_400_000;
    stage.addKey("bk-late", { expiresAt: clock.now() + 40 * days });
    const connection = await logInPlain(stage.port, "bk-late");
    await connection.until(READY);
    clock.move(39 * days);
    connection.send(query("SELECT 1"));
    await connection.until("SELECT 1\0");
    clock.move(days);
    expect(await connection.untilClosed()).toContain("C57P01");
  });

  test("a client that does not take its end is cut a second later", async () => {
    const clock = new SetClock();
    const deaf: ServeSession = ({ client }) => ({
      done: new Promise((resolve) => client.once("close", resolve)),
      ...{ cancel: () => undefined, end: () => undefined },
    });
    const stage = await open({}, { clock, serveSession: deaf });
    const connection = await logInPlain(stage.port, KEY);
    await connection.until(READY);
    stage.end("all", "over");
    clock.move(1_000);
    await connection.closed;
    await expect.poll(stage.openCount).toBe(0);
  });

  test("the port's end reaches all", async () => {
    const stage = await startPort();
    stage.addKey(KEY);
    const one = await logInPlain(stage.port, KEY);
    await one.until(READY);
    const asked = await RawConnection.open(stage.port);
    asked.send(startup());
    await asked.until(ASKED);
    await stage.close();
    expect(await one.untilClosed()).toContain("C57P01");
    expect(await asked.untilClosed()).toContain("C57P01");
  });
});
