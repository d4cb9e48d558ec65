import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { HttpResponse } from "../../src/lib/http-client.ts";
import { createStreamClient } from "../../src/lib/stream-client.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const MEBIBYTE = 1_048_576;

let server: Server;
let port = 0;
let serve: (socket: Socket, request: string) => void = () => undefined;
const sockets = new Set<Socket>();
let client = createStreamClient();

beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    socket.on("data", (data) => serve(socket, data.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
});
afterEach(async () => {
  await client.close();
  for (const socket of sockets) socket.destroy();
  client = createStreamClient();
});
afterAll(() => server.close());

function send(signal = new AbortController().signal): Promise<HttpResponse> {
  const url = `http://127.0.0.1:${port}/v1/chat`;
  const headers = { accept: "text/event-stream", "content-type": "application/json" };
  return client.send({ url, method: "POST", headers, body: '{"text":"ä"}', signal });
}

const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const textOf = async (response: HttpResponse) => {
  const { value } = await response.next();
  return value && Buffer.from(value).toString();
};
const allClosed = () => expect.poll(() => sockets.size).toBe(0);

describe("a stream over plain HTTP", () => {
  it("is given bit by bit, as it comes", async () => {
    let request = "";
    let go: Socket | undefined;
    serve = (socket, text) => {
      request += text;
      go = socket;
      socket.write(CHUNKED + chunk("one"));
    };
    const response = await send();
    expect([response.status, response.header("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await textOf(response)).toBe("one");
    const second = textOf(response);
    go?.write(chunk("two"));
    expect(await second).toBe("two");
    go?.write("0\r\n\r\n");
    expect(await response.next()).toEqual({ done: true, value: undefined });
    expect(await response.next()).toEqual({ done: true, value: undefined });
    expect(request).toMatch(/^POST \/v1\/chat HTTP\/1\.1\r\n/);
    expect(request).toMatch(/\r\ncontent-length: 13\r\n/i);
    expect(request.endsWith('\r\n\r\n{"text":"ä"}')).toBe(true);
  });

  it("is given in pieces of at most 64 KB, and read whole by `text`", async () => {
    const long = "x".repeat(MEBIBYTE);
    serve = (socket) => socket.write(`${CHUNKED}${chunk(long)}0\r\n\r\n`);
    const response = await send();
    let length = 0;
    for (;;) {
      const { done, value } = await response.next();
      if (done === true) break;
      expect(value?.length).toBeLessThanOrEqual(65_536);
      length += value?.length ?? 0;
    }
    expect(length).toBe(MEBIBYTE);
    expect((await (await send()).text(MEBIBYTE)).length).toBe(MEBIBYTE);
    await expect((await send()).text(MEBIBYTE - 1)).rejects.toThrow("more than");
  });

  it("uses a connection again when all of an answer is read", async () => {
    const used = new Set<Socket>();
    serve = (socket) => {
      used.add(socket);
      socket.write(`${CHUNKED}${chunk("word")}0\r\n\r\n`);
    };
    for (let call = 0; call < 5; call += 1) {
      const response = await send();
      expect(await response.text(100)).toBe("word");
      response.cancel();
      // It goes back a moment after its last byte.
      await sleep(10);
    }
    expect(used.size).toBe(1);
  });

  it("begins anew when the connection that was kept is closed without a word", async () => {
    const answered = new WeakSet<Socket>();
    let closed = 0;
    serve = (socket) => {
      if (answered.has(socket)) {
        closed += 1;
        socket.destroy();
        return;
      }
      answered.add(socket);
      socket.write(`${CHUNKED}${chunk("word")}0\r\n\r\n`);
    };
    for (let call = 0; call < 3; call += 1) {
      expect(await (await send()).text(100)).toBe("word");
      await sleep(10);
    }
    expect(closed).toBeGreaterThan(0);
  });

  it.each([
    ["in a chunk", `${CHUNKED}5\r\nab`],
    ["between chunks", CHUNKED + chunk("ab")],
    ["before the length it told", `${HEAD}Content-Length: 5\r\n\r\nab`],
  ])("fails when the server ends or resets it %s, after what came", async (_, text) => {
    for (const leave of ["end", "resetAndDestroy"] as const) {
      serve = (socket) => socket.write(text, () => setTimeout(() => socket[leave](), 20));
      const response = await send();
      expect(await textOf(response)).toBe("ab");
      await expect(response.next()).rejects.toMatchObject({ code: "ECONNRESET" });
      await expect(response.next()).rejects.toMatchObject({ code: "ECONNRESET" });
    }
  });

  it("ends with the connection where no length was told", async () => {
    serve = (socket) => socket.end(`${HEAD}Connection: close\r\n\r\nall`);
    expect(await (await send()).text(100)).toBe("all");
  });

  it.each([
    [
      "nobody listens",
      async () =>
        client.send({
          url: "http://127.0.0.1:1/",
          method: "GET",
          headers: {},
          signal: new AbortController().signal,
        }),
      "ECONNREFUSED",
    ],
    [
      "the server leaves at once",
      async () => {
        serve = (socket) => socket.destroy();
        return send();
      },
      "ECONNRESET",
    ],
  ])("rejects when %s", async (_, call, code) => {
    await expect(call()).rejects.toMatchObject({ code });
  });

  it("rejects an answer that is none", async () => {
    serve = (socket) => socket.end("\u0000\u0001 what?\r\n\r\n");
    await expect(send()).rejects.toThrow();
    serve = (socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    await expect(send()).rejects.toThrow();
    await allClosed();
  });

  it("closes the connection when it is aborted, before an answer and in its middle", async () => {
    const reason = new Error("the client left");
    for (const text of ["", CHUNKED + chunk("ab")]) {
      const caller = new AbortController();
      serve = (socket) => {
        if (text !== "") socket.write(text);
        setTimeout(() => caller.abort(reason), 20);
      };
      const call = async () => {
        const response = await send(caller.signal);
        expect(await textOf(response)).toBe("ab");
        await response.next();
      };
      await expect(call()).rejects.toBe(reason);
      await allClosed();
    }
  });

  it("closes the connection when it is cancelled", async () => {
    serve = (socket) => socket.write(CHUNKED + chunk("ab"));
    const response = await send();
    response.cancel();
    await allClosed();
    const other = await send();
    expect(await textOf(other)).toBe("ab");
    other.cancel();
    await allClosed();
  });

  it("stops the server when nobody reads, and loses nothing", async () => {
    const piece = chunk("y".repeat(65_000));
    const pieces = 1_000;
    let written = 0;
    serve = (socket) => {
      socket.write(CHUNKED);
      const more = () => {
        while (written < pieces) {
          written += 1;
          if (!socket.write(piece)) {
            socket.once("drain", more);
            return;
          }
        }
        socket.write("0\r\n\r\n");
      };
      more();
    };
    const response = await send();
    await response.next();
    let before = -1;
    while (before !== written) {
      before = written;
      await sleep(200);
    }
    expect(written).toBeLessThan(pieces / 2);
    expect((await response.text(100 * MEBIBYTE)).length).toBeGreaterThan((pieces - 2) * 65_000);
    expect(written).toBe(pieces);
  });
});
