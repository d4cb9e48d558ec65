import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openPostgresEngine } from "../../../../src/data/port/postgres/postgres-engine.ts";
import { parse, query } from "../../../../src/data/port/protocol/frontend-messages.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { createDataDatabase, type DataDatabase, untilActive } from "./data-database.ts";
import { passAll } from "./fake-gates.ts";
import { HandClock } from "./hand-clock.ts";
import { flush, openRawClient, type RawClient } from "./raw-client.ts";
import { openTrustListener, type TrustListener } from "./trust-listener.ts";

const MB = 1_048_576;

describe.skipIf(databaseServerUrl === undefined)("limits of a session", () => {
  const engine = openPostgresEngine({
    now: Date.now,
    mostSessions: 50,
    mostRunning: null,
    failed: () => undefined,
  });
  const clock = new HandClock();
  let database: DataDatabase;
  let listener: TrustListener;
  let client: RawClient;

  beforeAll(async () => {
    database = await createDataDatabase(databaseServerUrl ?? "");
    const principal = { timeoutSeconds: 7 };
    const options = { engine, check: passAll, url: database.url, principal, clock };
    listener = await openTrustListener(options);
  });
  afterEach(() => client.socket.destroy());
  afterAll(async () => {
    await listener?.close();
    await engine.close();
    await database?.drop();
  });

  test("a statement is cancelled at its timeout, and the session goes on", async () => {
    client = await openRawClient(listener.port);
    client.send(query("select pg_sleep(60)"));
    await untilActive(database);
    clock.move(8000);
    expect(await client.shorthand()).toBe("T E(57014) Z(I)");
    expect(listener.statements.at(-1)).toMatchObject({ outcome: "cut", code: "57014" });
    client.send(query("select 1"));
    expect(await client.shorthand()).toBe("T D C(SELECT 1) Z(I)");
  });

  test.each([
    ["select 1", 3_600_000, "57P05"],
    ["begin", 60_000, "25P03"],
  ])(
    "a client that is idle after %j for %d ms is told with %s",
    async (sql, milliseconds, code) => {
      client = await openRawClient(listener.port);
      client.send(query(sql));
      await client.answers();
      await expect.poll(() => clock.waits(milliseconds)).toBe(true);
      clock.move(milliseconds - 1);
      clock.move(1);
      expect(await client.shorthand()).toBe(`E(${code})`);
      await client.closed;
    },
  );

  test("a client that is idle before its Sync is in a transaction", async () => {
    client = await openRawClient(listener.port);
    client.send(parse("", "select 1"), flush());
    expect(await client.next(1)).toBe("1");
    await expect.poll(() => clock.waits(60_000)).toBe(true);
    clock.move(60_000);
    expect(await client.shorthand()).toBe("E(25P03)");
  });

  test("a client that does not read costs little memory, and ends at the statement's timeout", async () => {
    client = await openRawClient(listener.port);
    client.socket.pause();
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    const sql = "select repeat('x', 100000) from generate_series(1, 5000)";
    client.send(query(sql));
    await untilActive(database);
    await untilStalled(database);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MB);
    clock.move(8000);
    await listener.sessions.at(-1)?.done;
    expect(listener.statements.at(-1)).toMatchObject({ outcome: "cut", code: "57014" });
    await untilActive(database, 0);
  });

  test("a client that vanishes leaves no statement behind", async () => {
    client = await openRawClient(listener.port);
    client.send(query("select pg_sleep(60)"));
    await untilActive(database);
    client.socket.destroy();
    await listener.sessions.at(-1)?.done;
    await untilActive(database, 0);
    expect(listener.statements.at(-1)).toMatchObject({ outcome: "cancelled" });
  });
});

/** The backend waits until its client takes more bytes. */
async function untilStalled(database: DataDatabase): Promise<void> {
  await untilActive(database, 1, "and wait_event = 'ClientWrite'");
}
