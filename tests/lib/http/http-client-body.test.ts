import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RequestReader } from "../../../simulator/http/request-reader.ts";
import { createHttpClient } from "../../../src/lib/http/create-http-client.ts";
import type { HttpClient } from "../../../src/lib/http/http-client.ts";

/** More than the system holds for a connection on which nobody reads. */
const LARGE = Buffer.alloc(24 * 1024 * 1024);
for (let at = 0; at < LARGE.length; at += 4_096) LARGE.writeUInt32LE(at, at);

let server: Server;
let url: string;
let serve: (socket: Socket) => void = () => undefined;

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/`;
});
afterAll(() => {
  server.close();
});

let client: HttpClient;
beforeEach(() => {
  client = createHttpClient();
});
afterEach(() => client.close());

function send(body: Uint8Array, signal = new AbortController().signal) {
  return client.send({ url, method: "POST", headers: {}, body, signal });
}

describe("The HTTP client with a body of bytes", () => {
  it("sends every byte and its length", async () => {
    const received: Buffer[] = [];
    const lengths: (string | undefined)[] = [];
    serve = (socket) => {
      const reader = new RequestReader();
      socket.on("data", (bytes: Buffer) => {
        reader.push(bytes);
        const request = reader.next(() => {});
        if (request === undefined) return;
        received.push(request.body);
        lengths.push(request.headers.find(([name]) => /^content-length$/i.test(name))?.[1]);
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    };
    const bodies = [LARGE.subarray(0, 999), LARGE, LARGE.subarray(7, 70_000)];
    for (const body of bodies) expect(await (await send(body)).text(10)).toBe("ok");
    expect(received.map((body, at) => body.equals(bodies[at] as Buffer))).toEqual([
      true,
      true,
      true,
    ]);
    expect(lengths).toEqual(bodies.map(({ length }) => String(length)));
  });

  it("closes the connection when the call is given up midway", async () => {
    const closed = new Promise<void>((resolve) => {
      serve = (socket) => {
        socket.once("close", () => resolve());
        socket.once("data", () => {
          socket.pause();
          setTimeout(() => socket.resume(), 200);
        });
      };
    });
    const call = new AbortController();
    const sending = send(LARGE, call.signal);
    await sleep(50);
    call.abort(new Error("left"));
    await expect(sending).rejects.toThrow("left");
    await closed;
  });

  it("takes an answer that comes before the body's end", async () => {
    serve = (socket) =>
      void socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno");
      });
    const response = await send(LARGE);
    expect(response.status).toBe(400);
    expect(await response.text(10)).toBe("no");
  });
});
