import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  CLOSED_PORT,
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

// [upstream status, client status, client code]
const MAPPING = [
  [400, 400, "invalid_value"],
  [422, 400, "invalid_value"],
  [401, 502, "upstream_error"],
  [403, 502, "upstream_error"],
  [404, 502, "upstream_error"],
  [408, 504, "upstream_timeout"],
  [413, 413, "request_too_large"],
  [429, 429, "rate_limit_exceeded"],
  [500, 502, "upstream_error"],
  [502, 502, "upstream_error"],
  [503, 503, "overloaded"],
  [504, 504, "upstream_timeout"],
  [529, 503, "overloaded"],
  [302, 502, "upstream_error"],
  [418, 502, "upstream_error"],
] as const;

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

describe.each(ENGINES)("a refusal whose body never ends ($name)", (engine) => {
  it("is one by its status, and ends that connection alone", async () => {
    const server = await startRawServer((socket) =>
      onRequest(socket, () => {
        socket.write("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 10\r\n\r\n");
      }),
    );
    const backend = engine.create(upstreamAt(server.address));
    const error = await serviceErrorOf(
      backend.chat(chatRequest({ stream: true }), MODEL, { signal: never() }),
    );
    expect([error.status, error.code]).toEqual([502, "upstream_error"]);
    await server.allClosed();
    await server.stop();
  });
});

describe.each(ENGINES)("S10 an engine that refuses before the stream ($name)", (engine) => {
  const errorBody = (message: string) =>
    engine.name === "vllm" ? { error: { message, code: 400 } } : { error: message };

  for (const stream of [true, false]) {
    it.each(MAPPING)(`answers %i with %i (stream: ${stream})`, async (upstream, status, code) => {
      const body = errorBody(`the words of the engine at ${simulator.url} for ${ENGINE_KEY}`);
      simulator.script({
        respond: { status: upstream, headers: { "retry-after": "17" }, body },
      });
      const backend = engine.create(upstreamAt(simulator.url));
      const error = await serviceErrorOf(
        backend.chat(chatRequest({ stream }), MODEL, { signal: never() }),
      );
      expect([error.status, error.code]).toEqual([status, code]);
      expect(error.message).not.toContain(ENGINE_KEY);
      expect(error.message).not.toContain("127.0.0.1");
      const isToldInItsWords = status === 400 || upstream >= 500;
      expect(error.message.includes("the words of the engine")).toBe(isToldInItsWords);
      const isToldToWait = status === 429 || status === 503;
      expect(error.retryAfterSeconds).toBe(isToldToWait ? 17 : undefined);
      expect(simulator.ledger()).toHaveLength(1);
    });
  }

  it("tells to wait some seconds when a 429 does not say how long", async () => {
    simulator.script({ respond: { status: 429, body: "busy" } });
    const backend = engine.create(upstreamAt(simulator.url));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  });

  it("reads a Retry-After that is a date", async () => {
    const inAMinute = new Date(systemClock.now() + 60_000).toUTCString();
    simulator.script({ respond: { status: 429, headers: { "retry-after": inAMinute } } });
    const backend = engine.create(upstreamAt(simulator.url));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.retryAfterSeconds).toBeGreaterThan(50);
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
  });

  it.each(["", "<html>Bad Gateway</html>", "x".repeat(100_000)])(
    "makes a clear error of an error body that is no error",
    async (body) => {
      simulator.script({ respond: { status: 400, body } });
      const backend = engine.create(upstreamAt(simulator.url));
      const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
      expect(error.status).toBe(400);
      expect(error.message).toBe("The model server refused the request.");
    },
  );

  it.each([
    ["a closed port", `http://127.0.0.1:${CLOSED_PORT}`],
    ["a name that does not exist", "http://engine.invalid"],
  ])("answers 502 for %s, without the address", async (_what, address) => {
    const backend = engine.create(upstreamAt(address));
    for (const stream of [true, false]) {
      const error = await serviceErrorOf(
        backend.chat(chatRequest({ stream }), MODEL, { signal: never() }),
      );
      expect(error.code).toBe("upstream_error");
      expect(error.message).toContain("LLM_BASE_URL");
      const shown = error.message + JSON.stringify(error.cause);
      expect(shown).not.toMatch(/127\.0\.0\.1|engine\.invalid/);
    }
  });

  it("answers 502 for an engine that does not speak TLS where it should", async () => {
    const garbage = await startRawServer((socket) => socket.end("this is no TLS\r\n"));
    const backend = engine.create(upstreamAt(garbage.address.replace("http:", "https:")));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.code).toBe("upstream_error");
    await garbage.stop();
  });

  it("answers 502 for an engine that does not speak HTTP", async () => {
    const garbage = await startRawServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    const backend = engine.create(upstreamAt(garbage.address));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.code).toBe("upstream_error");
    await garbage.stop();
  });
});

describe.each(ENGINES)("Retries before the first byte ($name)", (engine) => {
  it.each([429, 502, 503])("calls once more after %i and answers", async (status) => {
    simulator.script({ respond: { status } }, { text: "here I am" });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 1 }));
    const events = await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(textOf(events)).toBe("here I am");
    expect(simulator.ledger()).toHaveLength(2);
  });

  it.each([400, 401, 500, 529])("does not call again after %i", async (status) => {
    simulator.script({ respond: { status } });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 3 }));
    await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(simulator.ledger()).toHaveLength(1);
  });

  it("calls at most GATEWAY_RETRIES times more", async () => {
    simulator.script({ respond: { status: 503 }, times: "always" });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 2 }));
    await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(simulator.ledger()).toHaveLength(3);
  });

  it("waits as long as a small Retry-After asks", async () => {
    simulator.script({ respond: { status: 429, headers: { "retry-after": "1" } } });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 1 }));
    await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
    const [first, second] = simulator.ledger();
    expect(second!.beganAt - first!.beganAt).toBeGreaterThanOrEqual(950);
  });

  it("hands a long Retry-After to the client instead of waiting", async () => {
    simulator.script({ respond: { status: 429, headers: { "retry-after": "3" } } });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 1 }));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.retryAfterSeconds).toBe(3);
    expect(simulator.ledger()).toHaveLength(1);
  });

  it("calls again when the connection was refused", async () => {
    const probe = await startRawServer(() => {});
    const { port } = new URL(probe.address);
    await probe.stop();
    const backend = engine.create(upstreamAt(probe.address, { retries: 5 }));
    const answer = collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
    const late = await startSimulator({ port: Number(port) });
    expect(textOf(await answer)).not.toBe("");
    await late.stop();
  });

  it("does not call again when the connection broke after the request was sent", async () => {
    const server = await startRawServer((socket) =>
      onRequest(socket, () => socket.resetAndDestroy()),
    );
    const backend = engine.create(upstreamAt(server.address, { retries: 3 }));
    const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
    expect(error.code).toBe("upstream_error");
    expect(server.connections()).toBe(1);
    await server.stop();
  });

  it("does not call again once the client has left", async () => {
    simulator.script({ respond: { status: 503 }, times: "always" });
    const backend = engine.create(upstreamAt(simulator.url, { retries: 5 }));
    const leaving = new AbortController();
    const answer = backend.chat(chatRequest(), MODEL, { signal: leaving.signal });
    await simulator.awaitEntry((entry) => entry.end !== undefined);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    const calls = simulator.ledger().length;
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(simulator.ledger()).toHaveLength(calls);
  });
});

describe.each(ENGINES)("H12 only the gateway's own headers go out ($name)", (engine) => {
  it("sends its credential, the content type and nothing of a client", async () => {
    const backend = engine.create(upstreamAt(simulator.url));
    await collect(backend.chat(chatRequest(), MODEL, { signal: never() }));
    const sent = new Map(
      simulator.ledger()[0]!.headers.map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect([...sent.keys()].sort()).toEqual([
      "accept",
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
      "user-agent",
    ]);
    expect(sent.get("authorization")).toBe(`Bearer ${ENGINE_KEY}`);
    expect(sent.get("content-type")).toBe("application/json");
    expect(sent.get("user-agent")).toBe("inference-gateway");
  });

  it("keeps a model name with line breaks out of the headers", async () => {
    const backend = engine.create(upstreamAt(simulator.url));
    const model = { ...MODEL, id: "sim-chat\r\nx-evil: 1" };
    await backend.chat(chatRequest(), model, { signal: never() }).catch(() => {});
    const names = simulator.ledger()[0]!.headers.map(([name]) => name.toLowerCase());
    expect(names).not.toContain("x-evil");
  });
});
