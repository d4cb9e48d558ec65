import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { openRawClient, rawRequest } from "../support/clients/raw-client.ts";
import { startTcpFault } from "../support/faults/tcp-fault.ts";
import { freePort } from "../support/processes/free-port.ts";
import {
  chunk,
  responseHead,
  startScriptedUpstream,
  wholeResponse,
} from "../support/servers/scripted-upstream.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startUpstream(...script: Parameters<typeof startScriptedUpstream>) {
  const upstream = await startScriptedUpstream(...script);
  stops.push(upstream.stop);
  return upstream;
}

async function startFault(port: number) {
  const fault = await startTcpFault({ port });
  stops.push(fault.stop);
  return fault;
}

describe("the scripted upstream", () => {
  it("sends its script byte for byte and logs head and body as received", async () => {
    const upstream = await startUpstream({
      steps: [
        { bytes: "HTTP/1.1 200 O" },
        { bytes: "K\r\ncontent-length: 2\r\n\r\nhi", delayMs: 5 },
      ],
      ending: "keep",
    });
    const client = await openRawClient(upstream.port);
    client.send(rawRequest("POST", "/x?y=1", { "X-Odd-Case": "a  b" }, "bödy"));
    const response = await client.readResponse();
    expect(client.received().toString()).toBe("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    expect(response).toMatchObject({ status: 200, text: "hi", isComplete: true });
    const [exchange] = upstream.exchanges();
    expect(exchange?.request.headers).toContainEqual(["X-Odd-Case", "a  b"]);
    expect(exchange?.request.path).toBe("/x");
    expect(exchange?.request.body.toString()).toBe("bödy");
    client.close();
  });

  it("answers several requests on one connection, each by its own script", async () => {
    const upstream = await startUpstream(({ path }) => ({
      steps: [{ bytes: wholeResponse(200, path) }],
      ending: "keep",
    }));
    const client = await openRawClient(upstream.port);
    client.send(rawRequest("GET", "/one", {}) + rawRequest("GET", "/two", {}));
    expect((await client.readResponse()).text).toBe("/one");
    expect((await client.readResponse()).text).toBe("/two");
    client.close();
  });

  it("reads a chunked request body whatever its segments", async () => {
    const upstream = await startUpstream({
      steps: [{ bytes: wholeResponse(200, "") }],
      ending: "keep",
    });
    const client = await openRawClient(upstream.port);
    const head = rawRequest("POST", "/", { "transfer-encoding": "chunked" });
    const bytes = Buffer.concat([Buffer.from(head), chunk("hal"), chunk("lö"), chunk("")]);
    for (const byte of bytes) {
      client.send(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await client.readResponse();
    expect(upstream.exchanges()[0]?.request.body.toString()).toBe("hallö");
    client.close();
  });

  it("notes when the client closes, and ends by reset when told to", async () => {
    const head = responseHead(200, { "transfer-encoding": "chunked" });
    const upstream = await startUpstream({ steps: [{ bytes: head }], ending: "stall" });
    const client = await openRawClient(upstream.port);
    client.send(rawRequest("GET", "/", {}));
    await client.readUntil((received) => received.includes("\r\n\r\n"));
    client.close();
    const closed = await upstream.awaitExchange((one) => one.clientClosedAt !== undefined);
    expect(closed.played).toBe(true);

    upstream.use({ steps: [{ bytes: head }, { bytes: chunk("part") }], ending: "rst" });
    const other = await openRawClient(upstream.port);
    other.send(rawRequest("GET", "/", {}));
    expect((await other.closed).error).toBe("ECONNRESET");
    const response = await other.readResponse();
    expect(response).toMatchObject({ text: "part", isComplete: false });
  });
});

describe("the raw client", () => {
  it("stops reading when paused, so that the other side's writes block", async () => {
    const big = Buffer.alloc(64 * 1024 * 1024);
    const upstream = await startUpstream({
      steps: [{ bytes: wholeResponse(200, big) }, { bytes: "" }],
      ending: "keep",
    });
    const client = await openRawClient(upstream.port);
    client.pause();
    client.send(rawRequest("GET", "/", {}));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(upstream.exchanges()[0]?.played).toBe(false);
    client.resume();
    const response = await client.readResponse();
    expect(response.body.length).toBe(big.length);
    client.close();
  });

  it("still reads after it has half-closed, and resets when told to", async () => {
    const upstream = await startUpstream({
      steps: [{ bytes: wholeResponse(200, "ok") }],
      ending: "keep",
    });
    const fault = await startFault(upstream.port);
    const client = await openRawClient(fault.port);
    client.send(rawRequest("GET", "/", {}));
    client.halfClose();
    expect((await client.readResponse()).text).toBe("ok");
    const other = await openRawClient(upstream.port);
    other.send(rawRequest("GET", "/", {}));
    await other.readResponse();
    other.reset();
    await upstream.awaitExchange(({ clientClosedAt }) => clientClosedAt !== undefined);
  });

  it("reads an answer without length up to the end of the connection", async () => {
    const upstream = await startUpstream({
      steps: [{ bytes: "HTTP/1.1 200 OK\r\n\r\nuntil the" }, { bytes: " end", delayMs: 10 }],
      ending: "fin",
    });
    const client = await openRawClient(upstream.port);
    client.send(rawRequest("GET", "/", {}));
    expect(await client.readResponse()).toMatchObject({ text: "until the end", isComplete: true });
    expect((await client.closed).error).toBeUndefined();
  });

  it("says what it got when the wanted answer does not come", async () => {
    const upstream = await startUpstream({ steps: [{ bytes: "HTTP/1.1 200" }], ending: "stall" });
    const client = await openRawClient(upstream.port);
    client.send(rawRequest("GET", "/", {}));
    await expect(client.readResponse({ timeoutMs: 100 })).rejects.toThrow(/HTTP\/1\.1 200/);
    client.close();
  });
});

describe("the TCP fault proxy", () => {
  async function startPair(answer = "hello") {
    const upstream = await startUpstream({
      steps: [{ bytes: wholeResponse(200, answer) }],
      ending: "keep",
    });
    const fault = await startFault(upstream.port);
    const client = await openRawClient(fault.port);
    const ask = async () => {
      client.send(rawRequest("GET", "/", {}));
      return client.readResponse();
    };
    return { upstream, fault, client, ask };
  }

  it("passes bytes on unchanged without toxics", async () => {
    const { ask, client } = await startPair();
    expect((await ask()).text).toBe("hello");
    client.close();
  });

  it("delays, slices and limits the bandwidth without changing a byte", async () => {
    const answer = "0123456789".repeat(40);
    const { ask, client, fault } = await startPair(answer);
    fault.set("down", { latencyMs: 100 });
    const started = performance.now();
    expect((await ask()).text).toBe(answer);
    expect(performance.now() - started).toBeGreaterThanOrEqual(99);
    fault.set("down", { slicer: { bytes: 7, delayMs: 1 } });
    expect((await ask()).text).toBe(answer);
    fault.set("down", { bytesPerSecond: 2_000 });
    const limited = performance.now();
    expect((await ask()).text).toBe(answer);
    expect(performance.now() - limited).toBeGreaterThan(150);
    client.close();
  });

  it("stalls until the toxic is taken away and loses nothing", async () => {
    const { ask, client, fault, upstream } = await startPair();
    fault.set("up", { stall: true });
    const answer = ask();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(upstream.exchanges()).toHaveLength(0);
    fault.clear();
    expect((await answer).text).toBe("hello");
    client.close();
  });

  it("closes after the limit of bytes", async () => {
    const { client, fault } = await startPair();
    fault.set("down", { limitBytes: 20 });
    client.send(rawRequest("GET", "/", {}));
    await client.closed;
    expect(client.received()).toHaveLength(20);
    client.close();
  });

  it("resets both sides, half-closes, and refuses while it is down", async () => {
    const { ask, client, fault, upstream } = await startPair();
    await ask();
    fault.reset();
    expect((await client.closed).error).toBe("ECONNRESET");
    await upstream.awaitExchange(({ clientClosedAt }) => clientClosedAt !== undefined);

    const halfClosed = await openRawClient(fault.port);
    await expect.poll(() => fault.openConnections()).toBe(1);
    fault.halfClose();
    expect((await halfClosed.closed).error).toBeUndefined();
    halfClosed.close();

    await fault.down();
    await expect(openRawClient(fault.port)).rejects.toThrow(/ECONNREFUSED|connect/i);
    await fault.up();
    const again = await openRawClient(fault.port);
    again.send(rawRequest("GET", "/", {}));
    expect((await again.readResponse()).text).toBe("hello");
    again.close();
  });
});

it("a free port can be listened on and nothing answers there", async () => {
  const port = await freePort();
  await new Promise<void>((resolve) => {
    connect(port, "127.0.0.1")
      .on("error", () => resolve())
      .on("connect", () => expect.fail("something listens there"));
  });
});
