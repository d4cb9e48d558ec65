import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { connectOnBun } from "../../../../src/lib/http/bun/bun-socket.ts";
import { createSocketClient } from "../../../../src/lib/http/bun/socket-client.ts";
import type { HttpResponse } from "../../../../src/lib/http/http-client.ts";
import { readShortPieces } from "../../../support/faults/read-short-pieces.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const MEBIBYTE = 1_048_576;

let server: Server;
let port = 0;
let serve: (socket: Socket, request: string) => void = () => undefined;
const sockets = new Set<Socket>();
let client = createSocketClient();

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
  await allClosed();
  client = createSocketClient();
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

// Node has a client of its own.
describe.runIf("Bun" in globalThis)("a call over plain HTTP, on Bun", () => {
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
    expect(await readShortPieces(await send())).toBe(MEBIBYTE);
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

  it.each([
    ["says that it closes it", `${HEAD}Connection: close\r\nContent-Length: 2\r\n\r\nab`],
    ["will have closed it by then", `${HEAD}Keep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nab`],
    ["said more than it told", `${HEAD}Content-Length: 2\r\n\r\nabc`],
    ["was left in the middle of the body", `${HEAD}Content-Length: 200\r\n\r\nab`],
  ])("uses no connection again when the server %s", async (_, text) => {
    const used = new Set<Socket>();
    serve = (socket) => {
      used.add(socket);
      socket.write(text);
    };
    for (let call = 0; call < 3; call += 1) {
      const response = await send();
      expect(await textOf(response)).toBe("ab");
      response.cancel();
    }
    expect(used.size).toBe(3);
  });

  it("uses no connection again whose time is over, though another has more", async () => {
    const answer = (seconds: number) =>
      `${HEAD}Keep-Alive: timeout=${seconds}\r\nContent-Length: 2\r\n\r\nab`;
    const answering: Socket[] = [];
    serve = (socket) => answering.push(socket);
    const calls = [send(), send()].map(async (call) => (await call).text(10));
    await expect.poll(() => answering.length).toBe(2);
    const [lasting, brief] = answering;
    lasting?.write(answer(60));
    await Promise.race(calls);
    brief?.write(answer(1));
    await Promise.all(calls);
    serve = (socket) => {
      answering.push(socket);
      socket.write(answer(60));
    };
    await (await send()).text(10);
    expect(answering[2]).toBe(lasting);
  });

  it("has the system ask after a server that is silent for long", async () => {
    serve = (socket) => socket.write(`${HEAD}Content-Length: 2\r\n\r\nab`);
    const first = await connectOnBun("127.0.0.1", port);
    const setKeepAlive = vi.spyOn(Object.getPrototypeOf(first), "setKeepAlive");
    first.terminate();
    await (await send()).text(10);
    expect(setKeepAlive.mock.calls).toEqual([[true, 60_000]]);
    setKeepAlive.mockRestore();
  });

  it("keeps no connection on which more comes than was asked for", async () => {
    serve = (socket) => {
      socket.write(`${HEAD}Content-Length: 2\r\n\r\nab`);
      setTimeout(() => socket.write(`${HEAD}Content-Length: 7\r\n\r\nforeign`), 20);
    };
    expect(await (await send()).text(100)).toBe("ab");
    await allClosed();
    expect(await (await send()).text(100)).toBe("ab");
  });

  it("uses no connection again on which a part of the request is still to be sent", async () => {
    serve = (socket, text) => {
      if (!text.startsWith("POST")) return;
      socket.pause();
      socket.write("HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno");
      setTimeout(() => socket.resume(), 100);
    };
    const { signal } = new AbortController();
    const url = `http://127.0.0.1:${port}/`;
    const body = "z".repeat(30 * MEBIBYTE);
    const refused = await client.send({ url, method: "POST", headers: {}, body, signal });
    expect([refused.status, await refused.text(10)]).toEqual([503, "no"]);
    serve = (socket, text) => {
      if (text.startsWith("GET")) socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
    };
    const next = await client.send({ url, method: "GET", headers: {}, signal });
    expect([next.status, await next.text(10)]).toEqual([200, "ok"]);
  });

  it("keeps no connection whose caller does not want it kept, and says so once", async () => {
    const requests: string[] = [];
    serve = (socket, text) => {
      requests.push(text);
      socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
    };
    const { signal } = new AbortController();
    const url = `http://127.0.0.1:${port}/`;
    const headers = { connection: "close" };
    await (await client.send({ url, method: "GET", headers, signal })).text(10);
    await allClosed();
    expect(requests[0]?.match(/^connection: .*$/gim)).toEqual(["connection: close"]);
  });

  it("passes over answers that only announce the real one", async () => {
    serve = (socket) =>
      socket.write(
        `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${CHUNKED}${chunk("word")}0\r\n\r\n`,
      );
    const response = await send();
    expect([response.status, await response.text(100)]).toEqual([200, "word"]);
  });

  it("takes a header that was sent twice by its first value, and tells of none that is missing", async () => {
    serve = (socket) => socket.write(`${HEAD}X-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n`);
    const response = await send();
    expect([response.header("x-a"), response.header("x-b")]).toEqual(["1", undefined]);
    expect(await response.text(10)).toBe("");
  });

  it("sends a body of many megabytes whole, to a server that is slow to read", async () => {
    const text = "é".repeat(4 * MEBIBYTE);
    let received = 0;
    serve = () => undefined;
    server.once("connection", (socket: Socket) => {
      socket.pause();
      setTimeout(() => socket.resume(), 300);
      socket.on("data", (data) => {
        received += data.length;
        if (received > 2 * text.length) socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
      });
    });
    const { signal } = new AbortController();
    const url = `http://localhost:${port}/a?b=c`;
    const response = await client.send({ url, method: "POST", headers: {}, body: text, signal });
    expect(await response.text(10)).toBe("ok");
  });

  it("sends no header that would end its line", async () => {
    const { signal } = new AbortController();
    const url = `http://127.0.0.1:${port}/`;
    for (const value of ["a\r\nb: c", "a\nb", "a\0", "日本"]) {
      const call = client.send({ url, method: "GET", headers: { a: value }, signal });
      await expect(call).rejects.toThrow('"a" cannot be sent');
    }
    expect(sockets.size).toBe(0);
  });

  it("rejects a call that is over before it begins, and keeps its connection for the next one", async () => {
    const reason = new Error("the client left");
    await expect(send(AbortSignal.abort(reason))).rejects.toBe(reason);
    const caller = new AbortController();
    const call = send(caller.signal);
    caller.abort(reason);
    await expect(call).rejects.toBe(reason);
    serve = (socket) => socket.write(`${HEAD}Content-Length: 2\r\n\r\nab`);
    await expect.poll(() => sockets.size).toBe(1);
    expect(await (await send()).text(100)).toBe("ab");
    expect(sockets.size).toBe(1);
  });

  it("ends the calls that are under way when it is closed", async () => {
    serve = (socket) => socket.write(CHUNKED + chunk("ab"));
    const response = await send();
    expect(await textOf(response)).toBe("ab");
    const next = response.next();
    await client.close();
    await expect(next).rejects.toMatchObject({ code: "ECONNRESET" });
    await allClosed();
    await expect(send()).rejects.toMatchObject({ code: "ECONNRESET" });
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

  it("sends a call once that a kept connection's server had time to work on", async () => {
    let requests = 0;
    serve = (socket) => {
      requests += 1;
      if (requests === 1) socket.write(`${CHUNKED}${chunk("word")}0\r\n\r\n`);
      else setTimeout(() => socket.destroy(), 300);
    };
    expect(await (await send()).text(100)).toBe("word");
    await expect(send()).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(requests).toBe(2);
  });

  it("does not say that nobody listens when the server took the call and died", async () => {
    let requests = 0;
    const dying = createServer((socket) => {
      socket.on("data", () => {
        requests += 1;
        if (requests === 1) {
          socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
          return;
        }
        dying.close();
        socket.destroy();
      });
    });
    await new Promise<void>((resolve) => dying.listen(0, "127.0.0.1", resolve));
    const address = dying.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
    const { signal } = new AbortController();
    const call = () => client.send({ url, method: "POST", headers: {}, body: "{}", signal });
    expect(await (await call()).text(10)).toBe("ok");
    await expect(call()).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(requests).toBe(2);
  });

  it("gives up a connection that nobody takes, which is told apart from a call that was begun", async () => {
    // A process that stands still, with more connections waiting for it than the system holds.
    const program = `const server = require("node:net").createServer();
      server.listen(0, "127.0.0.1", () => console.log(server.address().port))`;
    const stopped = spawn(process.execPath, ["-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(stopped.stdout, "data");
    stopped.kill("SIGSTOP");
    const impatient = createSocketClient({ connectTimeoutMs: 300 });
    try {
      const url = `http://127.0.0.1:${String(line).trim()}/`;
      const caller = new AbortController();
      const calls = Array.from({ length: 1_500 }, () =>
        impatient.send({ url, method: "GET", headers: {}, signal: caller.signal }),
      );
      const settled = Promise.allSettled(calls);
      await expect(Promise.race(calls)).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
      caller.abort(new Error("the client left"));
      await settled;
    } finally {
      await impatient.close();
      stopped.kill("SIGKILL");
    }
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

  it("ends with the connection where no length was told, if that ended in order", async () => {
    serve = (socket) => socket.end(`${HEAD}Connection: close\r\n\r\nall`);
    expect(await (await send()).text(100)).toBe("all");
    serve = (socket) => {
      socket.write(`${HEAD}Connection: close\r\n\r\nhalf`);
      setTimeout(() => socket.resetAndDestroy(), 20);
    };
    await expect((await send()).text(100)).rejects.toMatchObject({ code: "ECONNRESET" });
    serve = (socket) => socket.write(`${HEAD}Connection: close\r\n\r\nhalf`);
    const response = await send();
    const text = response.text(100);
    await client.close();
    await expect(text).rejects.toMatchObject({ code: "ECONNRESET" });
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

  it("loses nothing when the server ends while nobody reads", async () => {
    const text = "z".repeat(3 * MEBIBYTE);
    serve = (socket) => socket.end(`${HEAD}Connection: close\r\n\r\n${text}`);
    const response = await send();
    await response.next();
    await sleep(300);
    const rest = await response.text(4 * MEBIBYTE);
    expect(rest.length).toBeGreaterThanOrEqual(text.length - 65_536);
    await expect(response.next()).resolves.toEqual({ done: true, value: undefined });
  });
});
