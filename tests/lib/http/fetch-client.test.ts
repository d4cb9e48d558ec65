import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFetchClient } from "../../../src/lib/http/fetch-client.ts";
import { readShortPieces } from "../../support/faults/read-short-pieces.ts";

const MEBIBYTE = 1_048_576;

const client = createFetchClient();
let answer: RequestListener = (_, response) => response.end();
const server = createServer((request, response) => answer(request, response));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function send(signal = new AbortController().signal) {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return client.send({ url, method: "POST", headers: { "x-a": "b" }, body: "{}", signal });
}

describe("The client for clouds on Bun", () => {
  it("tells status and headers, and follows no redirect", async () => {
    answer = (_, response) => response.writeHead(302, { location: "/elsewhere", "x-b": "c" }).end();
    const response = await send();
    expect([response.status, response.header("x-b")]).toEqual([302, "c"]);
    expect(response.header("x-none")).toBeUndefined();
    expect(await response.next()).toMatchObject({ done: true });
  });

  it("gives a long body in pieces of at most 64 KB", async () => {
    answer = (_, response) => response.end("x".repeat(MEBIBYTE));
    expect(await readShortPieces(await send())).toBe(MEBIBYTE);
  });

  it.each([
    ["declared", { "content-length": String(MEBIBYTE) }],
    ["not declared", {}],
  ])("reads a text up to its limit when its length is %s", async (_, headers) => {
    answer = (_request, response) => response.writeHead(200, headers).end("y".repeat(MEBIBYTE));
    expect((await (await send()).text(MEBIBYTE)).length).toBe(MEBIBYTE);
    await expect((await send()).text(MEBIBYTE - 1)).rejects.toThrow("more than");
  });

  it("closes the connection when it is aborted or cancelled", async () => {
    let closed = 0;
    answer = ({ socket }, response) => {
      socket.once("close", () => {
        closed += 1;
      });
      response.writeHead(200).write("begin");
    };
    const reason = new Error("the client left");
    const caller = new AbortController();
    const response = await send(caller.signal);
    await response.next();
    const next = response.next();
    caller.abort(reason);
    await expect(next).rejects.toBe(reason);
    (await send()).cancel();
    await expect.poll(() => closed).toBe(2);
  });
});
