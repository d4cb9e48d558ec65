import { afterEach, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { Cancellation } from "../../../src/lib/cancellation.ts";
import type { HttpRequest, HttpResponse } from "../../../src/lib/http/http-client.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { CLOSED_PORT, ENGINE_KEY, type RawServer, startRawServer } from "../support.ts";
import { chatCalls, exceptChecks, type ReplicaStage, stageReplicas, until } from "./stage.ts";

const MAX_BYTES = 1_000_000;
const HEADERS =
  "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const CLOSED = `http://127.0.0.1:${CLOSED_PORT}`;

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(cleanUps.splice(0).map((cleanUp) => cleanUp()));
});

async function simulators(count: number): Promise<TestSimulator[]> {
  const started = await Promise.all(Array.from({ length: count }, () => startSimulator()));
  cleanUps.push(...started.map((simulator) => simulator.stop));
  return started;
}

async function rawServer(...args: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...args);
  cleanUps.push(server.stop);
  return server;
}

function stage(...args: Parameters<typeof stageReplicas>): ReplicaStage {
  const staged = stageReplicas(...args);
  cleanUps.push(staged.client.close);
  return staged;
}

async function ask({ client, chat }: ReplicaStage, more?: Partial<HttpRequest>): Promise<number> {
  const response = await client.send(chat(more));
  await response.text(MAX_BYTES);
  return response.status;
}

const urls = (servers: readonly { readonly url: string }[]) => servers.map(({ url }) => url);
const sorted = (counts: readonly number[]) => [...counts].sort((one, other) => one - other);
const calls = (servers: readonly TestSimulator[]) =>
  servers.map((server) => chatCalls(server.ledger()).length);

/** Of two replicas, the one that key 1 belongs to and the other one. */
async function pair(): Promise<{ stage: ReplicaStage; home: TestSimulator; other: TestSimulator }> {
  const both = await simulators(2);
  const staged = stage(urls(both));
  expect(await ask(staged)).toBe(200);
  const [first, second] = both as [TestSimulator, TestSimulator];
  const [home, other] = chatCalls(first.ledger()).length > 0 ? [first, second] : [second, first];
  home.reset();
  return { stage: staged, home, other };
}

describe("a call that its replica refuses before the first byte", () => {
  it.each([429, 502, 503])(
    "with %s is answered by another one, each tried once",
    async (status) => {
      const { stage: staged, home, other } = await pair();
      home.script({ respond: { status, headers: { "retry-after": "60" } } });
      expect(await ask(staged)).toBe(200);
      expect(calls([home, other])).toEqual([1, 1]);
    },
  );

  it.each([400, 401, 404, 500, 504])("with %s is not: the status is its answer", async (status) => {
    const { stage: staged, home, other } = await pair();
    home.script({ respond: { status } });
    expect(await ask(staged)).toBe(status);
    expect(calls([home, other])).toEqual([1, 0]);
  });

  it("because nobody listens is answered by another one, whatever its key", async () => {
    const [living] = (await simulators(1)) as [TestSimulator];
    const staged = stage([CLOSED, living.url]);
    for (let key = 0; key < 8; key += 1) {
      expect(await ask(staged, { route: { key, model: "sim-chat" } })).toBe(200);
    }
    expect(calls([living])).toEqual([8]);
  });

  it("tries each of them once when all refuse, and gives the last refusal", async () => {
    const all = await simulators(4);
    const staged = stage(urls(all));
    for (const one of all) one.script({ respond: { status: 503 }, times: "always" });
    expect(await ask(staged)).toBe(503);
    expect(calls(all)).toEqual([1, 1, 1, 1]);
  });

  it("gives the refusal of one that is there rather than the failure of one that is not", async () => {
    const [busy] = (await simulators(1)) as [TestSimulator];
    busy.script({ respond: { status: 429, headers: { "retry-after": "7" } }, times: "always" });
    const staged = stage([busy.url, CLOSED]);
    for (let key = 0; key < 4; key += 1) {
      const response = await staged.client.send(staged.chat({ route: { key, model: "sim-chat" } }));
      expect([response.status, response.header("retry-after")]).toEqual([429, "7"]);
      response.cancel();
    }
  });

  it("fails as the connection did when nobody listens anywhere", async () => {
    const staged = stage([CLOSED, "http://127.0.0.1:2"]);
    await expect(ask(staged)).rejects.toMatchObject({
      code: expect.stringMatching(/ECONNREFUSED|ConnectionRefused/),
    });
  });

  it("is made again with its body where that is bytes", async () => {
    const { stage: staged, home, other } = await pair();
    home.script({ respond: { status: 503 } });
    const { body } = staged.chat();
    expect(await ask(staged, { body: Buffer.from(String(body)) })).toBe(200);
    expect(calls([home, other])).toEqual([1, 1]);
  });
});

describe("a connection that breaks", () => {
  it("before any answer is made up for at one other replica, and no further: the call may be the cause", async () => {
    const crashing = await Promise.all(
      [1, 2, 3].map(() => rawServer(exceptChecks((socket) => socket.resetAndDestroy()))),
    );
    let reached = 0;
    const counting = await Promise.all(
      [1, 2, 3].map(() =>
        rawServer(
          exceptChecks((socket) => {
            reached += 1;
            socket.resetAndDestroy();
          }),
        ),
      ),
    );
    await expect(ask(stage(counting.map(({ address }) => address)))).rejects.toThrow();
    expect(reached).toBe(2);

    const [living] = (await simulators(1)) as [TestSimulator];
    const [first] = crashing as [RawServer];
    const staged = stage([first.address, living.url]);
    for (let key = 0; key < 4; key += 1) {
      expect(await ask(staged, { route: { key, model: "sim-chat" } })).toBe(200);
    }
  });

  it("in the middle of an answer is told, and nothing is sent again", async () => {
    const { stage: staged, home, other } = await pair();
    home.script({ text: "one two three four five", cut: { at: 3, how: "reset" } });
    const { body } = staged.chat();
    const streamed = { ...JSON.parse(String(body)), stream: true };
    const response = await staged.client.send(staged.chat({ body: JSON.stringify(streamed) }));
    expect(response.status).toBe(200);
    await expect(readAll(response)).rejects.toThrow();
    expect(calls([home, other])).toEqual([1, 0]);
  });
});

describe("a client that leaves", () => {
  it("while an answer is awaited ends the call there, and no other replica hears of it", async () => {
    const { stage: staged, home, other } = await pair();
    home.script({ stall: { at: "headers" }, times: 3 });
    for (const already of [0, 1, 2]) {
      const leaving = new AbortController();
      const sending = ask(staged, { signal: leaving.signal });
      await until("it has arrived", () => chatCalls(home.ledger()).length === already + 1);
      leaving.abort(new Error("left"));
      await expect(sending).rejects.toThrow();
    }
    expect(calls([home, other])).toEqual([3, 0]);
    // It says nothing about the replica, however often it happens.
    for (let call = 0; call < 4; call += 1) expect(await ask(staged)).toBe(200);
    expect(calls([home, other])).toEqual([7, 0]);
  });

  it("just when a replica refuses is not carried to the next one", async () => {
    const leaving = new AbortController();
    const busy = await Promise.all(
      [1, 2].map(() =>
        rawServer(
          exceptChecks((socket) => {
            reached += 1;
            leaving.abort(new Error("left"));
            socket.write("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n");
          }),
        ),
      ),
    );
    let reached = 0;
    const staged = stage(busy.map(({ address }) => address));
    await expect(ask(staged, { signal: leaving.signal })).rejects.toThrow();
    expect(reached).toBe(1);
  });
});

describe("a replica that fails", () => {
  it("is left alone after the third failure in a row, told once by place and host, and told again when it is back", async () => {
    const { stage: staged, home, other } = await pair();
    home.script({ respond: { status: 502 }, times: 3 });
    for (let call = 0; call < 5; call += 1) expect(await ask(staged)).toBe(200);
    expect(calls([home, other])).toEqual([3, 5]);
    await until("it is back", () => staged.lines().length === 2);
    expect(await ask(staged)).toBe(200);
    expect(calls([home, other])).toEqual([4, 5]);

    const host = new URL(home.url).host;
    const [down, back] = staged.lines().map((line) => JSON.parse(line));
    expect(down).toMatchObject({ level: "warn", host });
    expect(down.msg).toMatch(/^model server [12] of 2 is down; its calls go to the others$/);
    expect(back).toMatchObject({ level: "info", host, replica: down.replica });
    expect(back.msg).toMatch(/^model server [12] of 2 is back$/);
    expect(staged.lines().join("")).not.toContain(ENGINE_KEY);
  });

  it("is found by its health alone, before any call fails", async () => {
    const both = await simulators(2);
    const [sick, well] = both as [TestSimulator, TestSimulator];
    sick.script({ match: { path: "/health" }, respond: { status: 503 }, times: "always" });
    const staged = stage(urls(both));
    await until("it is down", () => staged.lines().length === 1);
    for (let key = 0; key < 8; key += 1) await ask(staged, { route: { key, model: "sim-chat" } });
    expect(calls([sick, well])).toEqual([0, 8]);
  });

  it("is left alone when it sends headers and no more, and gets a single call before it gets others", async () => {
    let isWedged = true;
    let reached = 0;
    const wedged = await rawServer(
      exceptChecks((socket) => {
        reached += 1;
        socket.write(isWedged ? HEADERS : `${HEADERS}2\r\nok\r\n0\r\n\r\n`);
      }),
    );
    const others = await simulators(1);
    const staged = stage([wedged.address, ...urls(others)]);
    /** Returns whether there was an answer within the time of the call. */
    const isAnswered = async (key: number): Promise<boolean> => {
      const signal = new Cancellation();
      const route = { key, model: "sim-chat" };
      const response = await staged.client.send(staged.chat({ signal, route }));
      const timer = setTimeout(() => signal.abort(new ServiceError("upstream_timeout", "")), 200);
      const answered = await response.next().then(
        () => true,
        () => false,
      );
      clearTimeout(timer);
      response.cancel();
      return answered;
    };
    /** Calls of many conversations, one after another, as long as it holds. */
    const askWhile = async (holds: () => boolean) => {
      for (let key = 0; holds(); key += 1) await isAnswered(key);
    };
    await askWhile(() => staged.lines().length === 0);
    expect(reached).toBe(3);
    // Its health is good all the time, and still it gets a single call.
    await askWhile(() => reached === 3);
    expect(staged.lines()).toHaveLength(1);
    isWedged = false;
    await askWhile(() => staged.lines().length === 1);
    expect(reached).toBe(5);
  });

  it("is called all the same while there is no other", async () => {
    const both = await simulators(2);
    const staged = stage(urls(both));
    for (const one of both) one.script({ respond: { status: 502 }, times: 3 });
    for (let call = 0; call < 3; call += 1) expect(await ask(staged)).toBe(502);
    expect(await ask(staged)).toBe(200);
  });
});

describe("a call", () => {
  it("is counted until its answer is over, read to its end or given up", async () => {
    const both = await simulators(2);
    const staged = stage(urls(both), 2);
    const { body } = staged.chat();
    const streamed = JSON.stringify({ ...JSON.parse(String(body)), stream: true });
    const endings = [
      readAll,
      (response: HttpResponse) => response.text(MAX_BYTES),
      async (response: HttpResponse) => response.cancel(),
    ];
    for (const end of endings) {
      for (let call = 0; call < 6; call += 1) {
        await end(await staged.client.send(staged.chat({ body: streamed })));
      }
    }
    // Calls that were thought to go on would have driven it from its replica.
    expect(sorted(calls(both))).toEqual([0, 18]);
  });

  it("goes to a replica that has its model, once they have told", async () => {
    const model = { contextLength: 1_000, capabilities: ["completion"] as const };
    const small = await startSimulator({ models: [{ name: "small", ...model }] });
    const large = await startSimulator({ models: [{ name: "large", ...model }] });
    cleanUps.push(small.stop, large.stop);
    const staged = stage([small.url, large.url]);
    const body = JSON.stringify({ model: "large", messages: [{ role: "user", content: "hello" }] });
    const askWithKeys = async () => {
      const statuses = new Set<number>();
      for (let key = 0; key < 8; key += 1) {
        statuses.add(await ask(staged, { body, route: { key, model: "large" } }));
      }
      return [...statuses];
    };
    // Until then it is as likely to go to the one that does not have it.
    while ((await askWithKeys()).includes(404));
    small.reset();
    large.reset();
    expect(await askWithKeys()).toEqual([200]);
    expect(calls([small, large])).toEqual([0, 8]);
  });

  it("without a route goes to the replica with the fewest, and a question to the first that works", async () => {
    const both = await simulators(2);
    const [first] = both as [TestSimulator, TestSimulator];
    const staged = stage(urls(both));
    first.script({ stall: { at: "headers" } });
    const leaving = new AbortController();
    const stalled = ask(staged, { route: undefined, signal: leaving.signal });
    await until("the call has arrived", () => chatCalls(first.ledger()).length === 1);
    for (let call = 0; call < 4; call += 1) await ask(staged, { route: undefined });
    expect(calls(both)).toEqual([1, 4]);

    const headers = { "x-question": "yes" };
    const question = { url: `${first.url}/v1/models`, method: "GET" as const, headers };
    await ask(staged, { ...question, body: undefined, route: undefined });
    const hasQuestion = (entry: LedgerEntry) =>
      entry.headers.some(([name]) => name === "x-question");
    expect(both.map((one) => one.ledger().filter(hasQuestion).length)).toEqual([1, 0]);
    leaving.abort();
    await expect(stalled).rejects.toThrow();
  });

  it("to any other address is none of its business", async () => {
    const [one, two, elsewhere] = (await simulators(3)) as [
      TestSimulator,
      TestSimulator,
      TestSimulator,
    ];
    const staged = stage([one.url, two.url]);
    expect(await ask(staged, { url: `${elsewhere.url}/v1/chat/completions` })).toBe(200);
    expect(calls([one, two, elsewhere])).toEqual([0, 0, 1]);
  });
});

async function readAll(response: HttpResponse): Promise<void> {
  while ((await response.next()).done !== true);
}
