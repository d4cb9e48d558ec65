import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ChunkedDecoder } from "../../../simulator/http/chunked-decoder.ts";
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";

const PIECE = 64 * 1024;
/** More than the system holds for a connection on which nobody reads. */
const ENDLESS_PIECES = 2_000;

let server: Server;
let url: string;
let serve: (socket: Socket) => void = () => undefined;
const client = createHttpClient();

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`;
});
afterAll(async () => {
  await client.close();
  server.close();
});

function endless(state: { pulled: number; isEnded: boolean }, failAt = -1) {
  return (async function* () {
    try {
      for (; state.pulled < ENDLESS_PIECES; state.pulled++) {
        if (state.pulled === failAt) throw new Error("the source broke");
        yield Buffer.alloc(PIECE, state.pulled % 256);
      }
    } finally {
      state.isEnded = true;
    }
  })();
}

function send(body: AsyncIterable<Uint8Array>, signal = new AbortController().signal) {
  return client.send({ url, method: "POST", headers: {}, body, signal });
}

const closed = () =>
  new Promise<void>((resolve) => {
    serve = (socket) => {
      socket.once("close", () => resolve());
      socket.resume();
    };
  });

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5);
}

describe("The HTTP client with a body that is pulled", () => {
  it("sends every byte in its order", async () => {
    const decoder = new ChunkedDecoder();
    serve = (socket) =>
      void socket.on("data", (bytes: Buffer) => {
        const head = bytes.indexOf("\r\n\r\n");
        decoder.push(bytes.toString("latin1", 0, 4) === "POST" ? bytes.subarray(head + 4) : bytes);
        if (decoder.done) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    const sent = Array.from({ length: 40 }, (_, index) => Buffer.alloc(1 + index * 999, index));
    async function* body() {
      for (const piece of sent) yield piece;
    }
    const response = await send(body());
    expect(await response.text(10)).toBe("ok");
    expect(decoder.body().equals(Buffer.concat(sent))).toBe(true);
  });

  it("pulls no more than the other side takes", async () => {
    serve = (socket) => void socket.pause();
    const state = { pulled: 0, isEnded: false };
    const call = new AbortController();
    const sending = send(endless(state), call.signal).catch(() => undefined);
    // Until it comes to a standstill, or has sent everything.
    for (let pulled = -1; pulled < Math.max(1, state.pulled); ) {
      pulled = state.pulled;
      await sleep(500);
    }
    expect(state.pulled).toBeLessThan(ENDLESS_PIECES / 4);
    call.abort();
    await sending;
  });

  it("ends body and connection when the call is given up", async () => {
    const left = closed();
    const state = { pulled: 0, isEnded: false };
    const call = new AbortController();
    const sending = send(endless(state), call.signal);
    await eventually(() => state.pulled > 10);
    call.abort(new Error("left"));
    await expect(sending).rejects.toThrow("left");
    await left;
    await eventually(() => state.isEnded);
  });

  it("rejects with what broke its body, and closes the connection", async () => {
    const left = closed();
    const state = { pulled: 0, isEnded: false };
    await expect(send(endless(state, 20))).rejects.toThrow("the source broke");
    await left;
  });

  it("takes an answer that comes before the body's end, and ends the body", async () => {
    serve = (socket) =>
      void socket.once("data", () =>
        socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno"),
      );
    const state = { pulled: 0, isEnded: false };
    const response = await send(endless(state));
    expect(response.status).toBe(400);
    expect(await response.text(10)).toBe("no");
    await eventually(() => state.isEnded);
    expect(state.pulled).toBeLessThan(ENDLESS_PIECES);
  });
});
