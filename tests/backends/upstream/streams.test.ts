import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import type { ChatEvent, ChatEvents } from "../../../src/core/chat/chat-event.ts";
import { Cancellation } from "../../../src/lib/cancellation.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  chatRequest,
  collect,
  ENGINE_KEY,
  ENGINES,
  MODEL,
  never,
  onRequest,
  serviceErrorOf,
  startRawServer,
  textOf,
  upstreamAt,
} from "../support.ts";

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const TEXT = "one two three four five six seven eight";

function lastError(events: readonly ChatEvent[]): Extract<ChatEvent, { type: "error" }>["error"] {
  const last = events.at(-1);
  if (last?.type !== "error") throw new Error(`the stream ended with ${last?.type}`);
  expect(events.filter(({ type }) => type === "error" || type === "finish")).toHaveLength(1);
  return last.error;
}

describe.each(ENGINES)("A stream that fails ($name)", (engine) => {
  const chat = (signal = never(), idleTimeoutMs = 20_000): Promise<ChatEvents> =>
    engine
      .create(upstreamAt(simulator.url, { idleTimeoutMs }))
      .chat(chatRequest(), MODEL, { signal });

  it.each([1, 5, 7])("S03 reset after %i events: one error event, last", async (at) => {
    // Written event by event, so that each is read before the reset takes away what was not.
    simulator.script({ text: TEXT, tokensPerSecond: 100, cut: { at, how: "reset" } });
    const error = lastError(await collect(chat()));
    expect(error.code).toBe("upstream_error");
  });

  it("S03 reset before the first event: an error before the stream", async () => {
    simulator.script({ text: TEXT, cut: { at: 0, how: "reset" } });
    expect((await serviceErrorOf(chat())).status).toBe(502);
  });

  it.each(["fin", "end"] as const)(
    "S04 the connection closed without the terminal marker (%s)",
    async (how) => {
      simulator.script({ text: TEXT, tokensPerSecond: 100, cut: { at: 6, how } });
      const events = await collect(chat());
      expect(lastError(events).code).toBe("upstream_error");
      expect(TEXT.startsWith(textOf(events))).toBe(true);
      expect(textOf(events)).not.toBe("");
    },
  );

  it.each([0, 3] as const)("S05 silence after %i events: a time-out, and it is cut", async (at) => {
    simulator.script({ text: TEXT, tokensPerSecond: 200, stall: { at } });
    const events = await collect(chat(never(), 400)).catch((error: unknown) => error);
    const error = Array.isArray(events) ? lastError(events) : events;
    expect(error).toMatchObject({ code: "upstream_timeout" });
    await simulator.awaitEntry((entry) => entry.end === "client-left");
  });

  it("S05 silence before the headers is a time-out too", async () => {
    simulator.script({ stall: { at: "headers" } });
    expect((await serviceErrorOf(chat(never(), 300))).status).toBe(504);
    await simulator.awaitEntry((entry) => entry.end === "client-left");
  });

  it("does not take its own reader's pause for the engine's silence", async () => {
    simulator.script({ text: TEXT, tokensPerSecond: 50 });
    const events = await chat(never(), 1_000);
    let count = 0;
    for await (const batch of events) {
      if (count === 0) await new Promise((resolve) => setTimeout(resolve, 1_800));
      count += 1;
      expect(batch.some(({ type }) => type === "error")).toBe(false);
    }
  });

  it.each(["{not json", "<html>", "null", "[]", '"x"'])(
    "S09 garbage in the stream (%s): one error event, the socket closed",
    async (line) => {
      simulator.script({
        text: TEXT,
        repeat: 1_000,
        tokensPerSecond: 100,
        inject: { at: 4, line },
      });
      const events = await collect(chat());
      expect(lastError(events).code).toBe("upstream_error");
      expect(TEXT.startsWith(textOf(events))).toBe(true);
      await simulator.awaitEntry((entry) => entry.end === "client-left");
    },
  );

  it("S09 an event larger than the limit: one error event", async () => {
    simulator.script({ text: TEXT, inject: { at: 4, line: `"${"x".repeat(1_100_000)}"` } });
    expect(lastError(await collect(chat())).code).toBe("upstream_error");
  });

  it("S11 an error as the first event: an error before the stream", async () => {
    simulator.script({ error: { at: 0 } });
    expect((await serviceErrorOf(chat())).status).toBeGreaterThanOrEqual(500);
  });

  it("an error in the middle of the stream is its last event, without key and address", async () => {
    const message = `${ENGINE_KEY} is wrong at ${simulator.url}`;
    const body = engine.name === "vllm" ? { error: { message } } : { error: message };
    simulator.script({ text: TEXT, error: { at: 4, body } });
    const events = await collect(chat());
    expect(textOf(events)).not.toBe("");
    const error = lastError(events);
    expect(error.status).toBeGreaterThanOrEqual(500);
    expect(error.message).toContain("is wrong");
    expect(error.message).not.toContain(ENGINE_KEY);
    expect(error.message).not.toContain("127.0.0.1");
  });

  it("S12 an engine that never tells its usage: none is made up", async () => {
    simulator.script({ text: TEXT, usage: null });
    const events = await collect(chat());
    expect(events.at(-1)).toMatchObject({ type: "finish" });
    expect(events.at(-1)).not.toHaveProperty("usage.inputTokens");
  });

  it("LLM_REQUEST_TIMEOUT ends a stream that never pauses", async () => {
    simulator.script({ text: TEXT, repeat: 1_000, tokensPerSecond: 50 });
    const backend = engine.create(upstreamAt(simulator.url, { timeoutMs: 500 }));
    const events = await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(lastError(events).code).toBe("upstream_timeout");
    await simulator.awaitEntry((entry) => entry.end === "client-left");
  });
});

describe.each(ENGINES)("A whole answer that fails ($name)", (engine) => {
  const chat = (limits = {}): Promise<ChatEvents> =>
    engine
      .create(upstreamAt(simulator.url, limits))
      .chat(chatRequest({ stream: false }), MODEL, { signal: never() });

  it("comes as one batch when all is well", async () => {
    simulator.script({ text: TEXT });
    const batches: (readonly ChatEvent[])[] = [];
    for await (const batch of await chat()) batches.push(batch);
    expect(batches).toHaveLength(1);
    expect(batches[0]?.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
    expect(textOf(batches.flat())).toBe(TEXT);
  });

  it("may be silent for longer than a stream", async () => {
    simulator.script({ text: TEXT, latencyMs: 600 });
    expect(textOf(await collect(chat({ idleTimeoutMs: 200 })))).toBe(TEXT);
  });

  it("LLM_REQUEST_TIMEOUT answers 504 and cuts the call", async () => {
    simulator.script({ stall: { at: "headers" } });
    expect((await serviceErrorOf(chat({ timeoutMs: 300 }))).status).toBe(504);
    await simulator.awaitEntry((entry) => entry.end === "client-left");
  });

  it.each(["", "null", "[]", "{", "<html>"])("answers 502 for a body of %j", async (body) => {
    simulator.script({ respond: { status: 200, body } });
    expect((await serviceErrorOf(chat())).status).toBe(502);
  });

  it("answers 502 when the connection breaks inside the body", async () => {
    const server = await startRawServer((socket) =>
      onRequest(socket, () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"id"')),
    );
    const backend = engine.create(upstreamAt(server.address));
    const answer = backend.chat(chatRequest({ stream: false }), MODEL, { signal: never() });
    expect((await serviceErrorOf(answer)).status).toBe(502);
    await server.stop();
  });

  it.each([
    ["declared", `content-length: ${80 * 1024 * 1024}\r\n\r\n`],
    ["undeclared", "connection: close\r\n\r\n"],
  ])("gives up a body of 80 MiB whose length is %s", async (_what, rest) => {
    const piece = Buffer.alloc(1024 * 1024, 0x20);
    const server = await startRawServer((socket) =>
      onRequest(socket, () => {
        socket.write(`HTTP/1.1 200 OK\r\n${rest}`);
        let left = 80;
        const write = (): void => {
          while (left-- > 0) if (!socket.write(piece)) return void socket.once("drain", write);
          socket.end();
        };
        write();
      }),
    );
    const backend = engine.create(upstreamAt(server.address));
    const answer = backend.chat(chatRequest({ stream: false }), MODEL, { signal: never() });
    expect((await serviceErrorOf(answer)).message).toContain("too large");
    await server.allClosed();
    await server.stop();
  });
});

describe.each(ENGINES)("S06 a client that leaves ($name)", (engine) => {
  const start = (address: string, stream: boolean) => {
    const leaving = new AbortController();
    const answer = engine
      .create(upstreamAt(address))
      .chat(chatRequest({ stream }), MODEL, { signal: leaving.signal });
    return { leaving, answer };
  };

  it("before the call: nothing is sent", async () => {
    const leaving = new AbortController();
    leaving.abort();
    const backend = engine.create(upstreamAt(simulator.url));
    await expect(backend.chat(chatRequest(), MODEL, { signal: leaving.signal })).rejects.toThrow();
    expect(simulator.ledger()).toHaveLength(0);
  });

  it.each([true, false])("while headers are awaited (stream: %s)", async (stream) => {
    simulator.script({ stall: { at: "headers" } });
    const { leaving, answer } = start(simulator.url, stream);
    answer.catch(() => {});
    await simulator.awaitEntry(({ path }) => path === engine.path);
    const leftAt = Date.now();
    leaving.abort();
    await expect(answer).rejects.toBe(leaving.signal.reason);
    const entry = await simulator.awaitEntry(({ end }) => end === "client-left");
    expect(entry.endedAt! - leftAt).toBeLessThan(10_000);
  });

  it("while the first event is awaited", async () => {
    simulator.script({ stall: { at: 0 } });
    const { leaving, answer } = start(simulator.url, true);
    answer.catch(() => {});
    await simulator.awaitEntry(({ path }) => path === engine.path);
    await new Promise((resolve) => setTimeout(resolve, 50));
    leaving.abort();
    await expect(answer).rejects.toBe(leaving.signal.reason);
    await simulator.awaitEntry(({ end }) => end === "client-left");
  });

  it("mid-stream, by the signal, while the next read is pending", async () => {
    simulator.script({ text: TEXT, tokensPerSecond: 100, stall: { at: 5 } });
    const { leaving, answer } = start(simulator.url, true);
    const reading = collect(answer);
    reading.catch(() => {});
    await simulator.awaitEntry(({ sentEvents }) => sentEvents >= 5);
    const leftAt = Date.now();
    leaving.abort();
    await expect(reading).rejects.toBe(leaving.signal.reason);
    const entry = await simulator.awaitEntry(({ end }) => end === "client-left");
    expect(entry.endedAt! - leftAt).toBeLessThan(10_000);
  });

  it("mid-stream, by leaving the loop", async () => {
    simulator.script({ text: TEXT, repeat: 1_000, tokensPerSecond: 200 });
    const { answer } = start(simulator.url, true);
    for await (const _batch of await answer) break;
    await simulator.awaitEntry(({ end }) => end === "client-left");
  });

  it("mid-stream, by `return` while a read is pending", async () => {
    simulator.script({ text: TEXT, tokensPerSecond: 100, stall: { at: 3 } });
    const { answer } = start(simulator.url, true);
    const iterator = (await answer)[Symbol.asyncIterator]();
    const reading = (async () => {
      while (!(await iterator.next()).done);
    })();
    reading.catch(() => {});
    await simulator.awaitEntry(({ sentEvents }) => sentEvents >= 3);
    await iterator.return?.();
    await simulator.awaitEntry(({ end }) => end === "client-left");
    await reading.catch(() => {});
  });

  it("in the middle of a whole answer's body", async () => {
    const server = await startRawServer((socket) =>
      onRequest(socket, () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"id"')),
    );
    const { leaving, answer } = start(server.address, false);
    answer.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
    leaving.abort();
    await expect(answer).rejects.toBe(leaving.signal.reason);
    await server.allClosed();
    await server.stop();
  });
});

describe.each(ENGINES)("Connections ($name)", (engine) => {
  it("uses a connection again after a stream that was read to its end", async () => {
    const server = await startSimulator();
    const backend = engine.create(upstreamAt(server.url));
    for (let call = 0; call < 5; call++) {
      await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(server.openSockets()).toBe(1);
    await server.stop();
  });

  it("60 streams at once all run at the same time", async () => {
    const server = await startSimulator();
    const backend = engine.create(upstreamAt(server.url));
    server.script({ text: TEXT, stall: { at: 1 }, times: "always" });
    const leaving = new Cancellation();
    const all = Array.from({ length: 60 }, () =>
      collect(backend.chat(chatRequest(), MODEL, { signal: leaving })).catch(() => undefined),
    );
    await expect.poll(() => server.ledger().length).toBe(60);
    // Each waits for the rest of its text.
    expect(server.ledger().filter(({ endedAt }) => endedAt !== undefined)).toEqual([]);
    leaving.abort();
    await Promise.all(all);
    await server.stop();
  });
});

it("an error in a last event that is not ended tells no key and no address either", async () => {
  // No key by its looks.
  const secrets = ["canary_of_the_engine"];
  const error = { error: { message: `token ${secrets[0]} rejected`, code: 500 } };
  const first = { id: "c1", choices: [{ index: 0, delta: { content: "a" } }] };
  const messages = await Promise.all(
    ["\n\n", ""].map(async (end) => {
      const server = await startRawServer((socket) =>
        onRequest(socket, () =>
          socket.end(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" +
              `data: ${JSON.stringify(first)}\n\ndata: ${JSON.stringify(error)}${end}`,
          ),
        ),
      );
      const backend = createVllm({ ...upstreamAt(server.address), secrets });
      const events = await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
      await server.stop();
      return lastError(events).message;
    }),
  );
  expect(messages[1]).toBe(messages[0]);
  expect(messages[0]).toContain("token [hidden] rejected");
});
