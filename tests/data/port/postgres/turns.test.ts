import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Engine, EngineSession } from "../../../../src/data/port/engine.ts";
import { openPostgresEngine } from "../../../../src/data/port/postgres/postgres-engine.ts";
import { message, text } from "../../../../src/data/port/protocol/fields.ts";
import { parse, query, sync } from "../../../../src/data/port/protocol/frontend-messages.ts";
import { createStatementReader } from "../../../../src/data/port/queries/read-statement.ts";
import { PRINCIPAL, readRequest, textOf } from "../../../support/data/read-stage.ts";
import { databaseServerUrl } from "../../../support/servers/databases/database-server.ts";
import { createDataDatabase, type DataDatabase, untilActive } from "../session/data-database.ts";
import { passAll, refuseSome } from "../session/fake-gates.ts";
import { HandClock } from "../session/hand-clock.ts";
import { errorOf, flush, openRawClient, type RawClient } from "../session/raw-client.ts";
import { openTrustListener, type TrustListener } from "../session/trust-listener.ts";

const TIMEOUT_MS = 8_000;
const LONG = query("select pg_sleep(60)");
const SHORT = query("select 1");
const SHORT_ANSWER = "T D C(SELECT 1) Z(I)";

// Two statements at once, and so one of each key.
describe.skipIf(databaseServerUrl === undefined)("turns on a database server", () => {
  const engine = openPostgresEngine({
    ...{ now: Date.now, mostSessions: 50, mostRunning: 2 },
    failed: () => undefined,
  });
  const clock = new HandClock();
  const clients: RawClient[] = [];
  let database: DataDatabase;
  let one: TrustListener;
  let other: TrustListener;

  beforeAll(async () => {
    database = await createDataDatabase(databaseServerUrl ?? "");
    const open = (id: string) => {
      const principal = { id, timeoutSeconds: 7 };
      return openTrustListener({ engine, check: refuseSome, url: database.url, principal, clock });
    };
    one = await open("bik_one");
    other = await open("bik_other");
  });
  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.destroy();
    await untilActive(database, 0);
  });
  afterAll(async () => {
    await one?.close();
    await other?.close();
    await engine.close();
    await database?.drop();
  });

  const connect = async ({ port }: TrustListener) => {
    const client = await openRawClient(port);
    clients.push(client);
    return client;
  };
  /** A client whose statement runs, and one of the same key whose statement waits for its turn. */
  const queueUp = async (waiting: Buffer) => {
    const [first, second] = [await connect(one), await connect(one)];
    const session = one.sessions.at(-2);
    first.send(LONG);
    await untilActive(database);
    // So the timers of the two differ.
    clock.move(1);
    second.send(waiting);
    await expect.poll(() => clock.waits(TIMEOUT_MS)).toBe(true);
    await untilActive(database, 1);
    return { first, second, endFirst: () => session?.cancel() };
  };

  test("of one key go one after another, and another key does not wait for them", async () => {
    const { first, second, endFirst } = await queueUp(SHORT);
    const stranger = await connect(other);
    stranger.send(SHORT);
    expect(await stranger.shorthand()).toBe(SHORT_ANSWER);
    await untilActive(database, 1);
    endFirst();
    expect(await first.shorthand()).toBe("T E(57014) Z(I)");
    expect(await second.shorthand()).toBe(SHORT_ANSWER);
  });

  test("that do not come in time are told so, and the session goes on", async () => {
    const { second } = await queueUp(LONG);
    clock.move(TIMEOUT_MS);
    const error = errorOf(await second.answers());
    expect(error).toMatchObject({ code: "57014" });
    expect(error?.message).toBe("The statement waited 7 seconds for its turn.");
    second.send(SHORT);
    expect(await second.shorthand()).toBe(SHORT_ANSWER);
  });

  test("begin the time of a statement anew", async () => {
    const { second, endFirst } = await queueUp(LONG);
    clock.move(TIMEOUT_MS - 1_000);
    endFirst();
    await expect.poll(() => clock.waits(TIMEOUT_MS)).toBe(true);
    clock.move(TIMEOUT_MS - 1);
    await untilActive(database, 1);
    clock.move(1);
    expect(errorOf(await second.answers())?.message).toContain("took longer than 7 seconds");
  });

  test("are not kept by a client that left while it waited", async () => {
    const { second, endFirst } = await queueUp(SHORT);
    second.socket.destroy();
    await one.sessions.at(-1)?.done;
    endFirst();
    const third = await connect(one);
    third.send(SHORT);
    expect(await third.shorthand()).toBe(SHORT_ANSWER);
  });

  test("are not kept by a client that does not read", async () => {
    const slow = await connect(one);
    slow.socket.pause();
    slow.send(query("select repeat('x', 100000) from generate_series(1, 5000)"));
    await untilActive(database, 1, "and wait_event = 'ClientWrite'");
    const second = await connect(one);
    second.send(SHORT);
    expect(await second.shorthand()).toBe(SHORT_ANSWER);
  });

  test("are of the reads over HTTP too", async () => {
    const control = { statement: () => undefined, onEnd: () => undefined };
    let session: EngineSession | undefined;
    const open: Engine["open"] = async (...request) => {
      session = await engine.open(...request);
      return session;
    };
    const reader = createStatementReader({
      engine: { ...engine, open },
      checkText: passAll,
      control,
    });
    const { first, endFirst } = await queueUp(SHORT);
    const request = readRequest({
      principal: { ...PRINCIPAL, id: "bik_one" },
      login: { url: database.url },
    });
    const answer = reader.read(request, new AbortController().signal);
    await expect.poll(() => session?.isWaiting).toBe(true);
    await untilActive(database, 1);
    endFirst();
    await first.answers();
    const { body } = (await answer) as { readonly body: AsyncIterable<Buffer> };
    expect(JSON.parse(await textOf(body))).toMatchObject({ data: [{ "?column?": 1 }] });
    reader.close();
  });

  test("of a list are apart from those of the other statements of its key", async () => {
    const control = { statement: () => undefined, onEnd: () => undefined };
    const reader = createStatementReader({ engine, checkText: passAll, control });
    const { first, endFirst } = await queueUp(SHORT);
    const request = readRequest({
      ...{ principal: { ...PRINCIPAL, id: "bik_one" }, login: { url: database.url } },
      ...{ via: "list", format: "csv", sql: "select n from numbers order by n" },
    });
    const answer = await reader.read(request, new AbortController().signal);
    const { body } = answer as { readonly body: AsyncIterable<Buffer> };
    expect((await textOf(body)).split("\r\n")).toHaveLength(5_002);
    endFirst();
    await first.answers();
    reader.close();
  });

  const bind = message("B", text(""), text(""), Buffer.alloc(6));
  const execute = (rows: number) => message("E", text(""), Buffer.from([0, 0, 0, rows]));
  test.each<[string, string, readonly Buffer[]]>([
    ["an error", "E(42703) Z(I)", [query("select missing")]],
    ["a refusal", "E(42501) Z(I)", [query("select FORBIDDEN")]],
    ["an empty text", "I Z(I)", [query("")]],
    ["a transaction", "C(BEGIN) Z(T)", [query("begin")]],
    ["a refused Parse", "E(42501) Z(I)", [parse("", "select FORBIDDEN"), bind, sync()]],
    [
      "a portal with rows to come",
      "1 2 D s Z(I)",
      [parse("", "select n from numbers"), bind, execute(1), sync()],
    ],
  ])("are not kept after %s", async (_, answer, messages) => {
    const [first, second] = [await connect(one), await connect(one)];
    first.send(...messages);
    expect(await first.shorthand()).toBe(answer);
    second.send(SHORT);
    expect(await second.shorthand()).toBe(SHORT_ANSWER);
  });

  test("are not kept by a client that thinks before its Sync, or flushes nothing", async () => {
    const [first, second] = [await connect(one), await connect(one)];
    first.send(flush(), parse("", "select 1"), flush());
    expect(await first.next(1)).toBe("1");
    first.send(flush());
    second.send(SHORT);
    expect(await second.shorthand()).toBe(SHORT_ANSWER);
    first.send(sync());
    expect(await first.shorthand()).toBe("Z(I)");
  });
});
