import { createServer, type Socket } from "node:net";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";
import { postWebhook } from "../../../src/queue/webhooks/post-webhook.ts";

/** Every try is over by then, and a test's own slack. */
const BOUND_MS = 25_000;
const WAIT = { timeout: 30_000, interval: 20 };
/** What the kernel holds on both sides of a connection on loopback, and a little. */
const TAKEN_BYTES_MAX = 16 * 1024 * 1024;

const event = { id: "evt_1", kind: "llm_backend_down", body: { text: "…" }, attempts: 1 };
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Receiver {
  readonly port: number;
  readonly writtenBytes: () => number;
  readonly openConnections: () => number;
}

/** A receiver that does to each connection what it is told, once bytes have come. */
async function receive(serve: (socket: Socket) => void): Promise<Receiver> {
  const sockets = new Set<Socket>();
  let written = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      written += socket.bytesWritten;
      sockets.delete(socket);
    });
    socket.once("data", () => {
      socket.resume();
      serve(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    writtenBytes: () => [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, written),
    openConnections: () => sockets.size,
  };
}

/** For answers that never come; those that do have time on a busy machine. */
const SHORT_MS = 3_000;

async function post(url: string, timeoutMs = 15_000) {
  const client = createHttpClient();
  const webhook = {
    url,
    secret: "of the receiver's own",
    client,
    clock: { now: () => Date.now() },
    timeoutMs,
  };
  const began = performance.now();
  const outcome = await postWebhook(webhook, event, new AbortController().signal);
  await client.close();
  return { outcome, tookMs: performance.now() - began };
}

/** Writes the same for as long as it is taken. */
function pour(socket: Socket, piece: string | Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
    socket.once("drain", write);
  };
  write();
}

const HEAD = "HTTP/1.1 200 OK\r\n";
const MEBIBYTE = Buffer.alloc(1024 * 1024, "x");

describe("an answer that is no good", () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ["garbage", (socket) => void socket.end("what?\r\n\r\n"), "failed"],
    ["bytes that are no text", (socket) => void socket.end(Buffer.alloc(4096, 0xff)), "failed"],
    ["an endless status line", (socket) => pour(socket, MEBIBYTE), "failed"],
    [
      "endless headers",
      (socket) => {
        socket.write(HEAD);
        pour(socket, `x-more: ${"x".repeat(1000)}\r\n`);
      },
      "failed",
    ],
    [
      "a header that never ends",
      (socket) => {
        socket.write(`${HEAD}x-more: `);
        pour(socket, MEBIBYTE);
      },
      "failed",
    ],
    [
      "a length that is none",
      (socket) => void socket.end(`HTTP/1.1 500 No\r\ncontent-length: -5\r\n\r\n`),
      "failed",
    ],
    ["a reset", (socket) => void socket.resetAndDestroy(), "failed"],
    ["an end", (socket) => void socket.end(), "failed"],
    ["half a head and an end", (socket) => void socket.end(HEAD), "failed"],
    [
      "an endless body with an error",
      (socket) => {
        socket.write("HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n\r\n");
        pour(socket, MEBIBYTE);
      },
      "failed",
    ],
    [
      "an endless body with a success",
      (socket) => {
        socket.write(`${HEAD}content-type: text/plain\r\n\r\n`);
        pour(socket, MEBIBYTE);
      },
      "done",
    ],
    [
      "a huge body with a success",
      (socket) => {
        socket.write(`${HEAD}content-length: ${2 ** 40}\r\n\r\n`);
        pour(socket, MEBIBYTE);
      },
      "done",
    ],
    [
      "a bomb of a body with a success",
      (socket) => {
        socket.write(`${HEAD}content-encoding: gzip\r\ncontent-length: ${2 ** 30}\r\n\r\n`);
        pour(socket, MEBIBYTE);
      },
      "done",
    ],
  ])(
    "of %s is over in time, and little of it is taken",
    async (_, serve, kind) => {
      const receiver = await receive(serve);
      const { outcome, tookMs } = await post(`http://127.0.0.1:${receiver.port}/hook?token=canary`);
      await vi.waitFor(() => expect(receiver.openConnections()).toBe(0), WAIT);
      expect(outcome.kind).toBe(kind);
      expect(tookMs).toBeLessThan(BOUND_MS);
      expect(JSON.stringify(outcome)).not.toMatch(/127\.0\.0\.1|canary|xxx/);
      expect(receiver.writtenBytes()).toBeLessThan(TAKEN_BYTES_MAX);
    },
    60_000,
  );

  test.concurrent("of early hints without an end is over in time", async () => {
    const receiver = await receive((socket) => {
      const timer = setInterval(
        () => void socket.write("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"),
        10,
      );
      socket.once("close", () => clearInterval(timer));
    });
    const { outcome, tookMs } = await post(`http://127.0.0.1:${receiver.port}/hook`, SHORT_MS);
    expect(outcome).toEqual({ kind: "failed", error: "no answer within 3 s" });
    expect(tookMs).toBeLessThan(BOUND_MS);
  }, 60_000);

  test.concurrent("of a head byte by byte is over in time", async () => {
    const receiver = await receive((socket) => {
      const timer = setInterval(() => void socket.write("x"), 100);
      socket.write(`${HEAD}x-more: `);
      socket.once("close", () => clearInterval(timer));
    });
    const { outcome, tookMs } = await post(`http://127.0.0.1:${receiver.port}/hook`, SHORT_MS);
    expect(outcome).toEqual({ kind: "failed", error: "no answer within 3 s" });
    expect(tookMs).toBeLessThan(BOUND_MS);
  }, 60_000);

  test.concurrent("of a server that speaks no TLS, or bad TLS, is none", async () => {
    const plain = await receive((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n"));
    const garbage = await receive((socket) => void socket.write(Buffer.alloc(5000, 0x16)));
    const silent = await receive(() => undefined);
    const urls = [plain, garbage, silent].map(({ port }) => `https://127.0.0.1:${port}/?k=canary`);
    for (const { outcome, tookMs } of await Promise.all(urls.map((url) => post(url, SHORT_MS)))) {
      expect(outcome.kind).toBe("failed");
      expect(tookMs).toBeLessThan(BOUND_MS);
      expect(JSON.stringify(outcome)).not.toMatch(/127\.0\.0\.1|canary/);
    }
  }, 90_000);
});
