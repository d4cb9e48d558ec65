import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { askStatus } from "../../../src/backends/upstream/ask-upstream.ts";
import { callUpstream } from "../../../src/backends/upstream/call-upstream.ts";
import type { Upstream, UpstreamLimits } from "../../../src/backends/upstream/upstream.ts";
import { createUpstreamBook } from "../../../src/backends/upstream/upstream-figures.ts";
import {
  CLOSED_PORT,
  never,
  onRequest,
  type RawServer,
  startRawServer,
  upstreamAt,
} from "../support.ts";

const NOTHING = {
  ok: 0,
  "4xx": 0,
  "429": 0,
  "5xx": 0,
  timeout: 0,
  refused: 0,
  broken: 0,
  aborted: 0,
};

let server: RawServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

const answer = (status: number, headers = "") =>
  `HTTP/1.1 ${status} Said\r\ncontent-length: 2\r\n${headers}connection: close\r\n\r\n{}`;
const HEAD = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";

/** An upstream with figures, whose server does this with each request. */
async function upstreamThat(
  serve: (socket: Socket) => void,
  limits: Partial<UpstreamLimits> = {},
): Promise<Upstream> {
  server = await startRawServer((socket) => onRequest(socket, () => serve(socket)));
  return counted(upstreamAt(server.address, limits));
}

function counted(upstream: Upstream): Upstream {
  return { ...upstream, figures: createUpstreamBook().open("vllm", "http://127.0.0.1:9") };
}

/** Makes one call of a client and reads its answer to the end. */
async function call(upstream: Upstream, signal = never(), stream = false): Promise<void> {
  const response = await callUpstream(upstream, { path: "/", body: "{}", stream, signal });
  await response.text(1_000);
}

async function outcomesAfter(upstream: Upstream, work: Promise<void>) {
  await work.catch(() => undefined);
  return upstream.figures?.outcomes;
}

describe("a call to a server of models", () => {
  it.each([
    [200, "ok"],
    [201, "ok"],
    [400, "4xx"],
    [404, "4xx"],
    [429, "429"],
    [500, "5xx"],
    [503, "5xx"],
  ] as const)("that is answered with %i counts as %s", async (status, outcome) => {
    const upstream = await upstreamThat((socket) => socket.end(answer(status)));
    expect(await outcomesAfter(upstream, call(upstream))).toEqual({ ...NOTHING, [outcome]: 1 });
    expect(upstream.figures?.isSilent).toBe(false);
  });

  it("counts once, however often its answer is ended", async () => {
    const upstream = await upstreamThat((socket) => socket.end(answer(200)));
    const response = await callUpstream(upstream, {
      path: "/",
      body: "{}",
      stream: false,
      signal: never(),
    });
    await response.text(1_000);
    response.cancel();
    response.cancel();
    expect(upstream.figures?.outcomes).toEqual({ ...NOTHING, ok: 1 });
  });

  it("that reaches nobody counts as refused, and the server as silent", async () => {
    const upstream = counted(upstreamAt(`http://127.0.0.1:${CLOSED_PORT}`));
    expect(await outcomesAfter(upstream, call(upstream))).toEqual({ ...NOTHING, refused: 1 });
    expect(upstream.figures?.isSilent).toBe(true);
  });

  it("that is not answered in time counts as timeout, and the server as silent", async () => {
    const upstream = await upstreamThat(() => undefined, { timeoutMs: 100 });
    expect(await outcomesAfter(upstream, call(upstream))).toEqual({ ...NOTHING, timeout: 1 });
    expect(upstream.figures?.isSilent).toBe(true);
  });

  it("whose stream falls silent counts as timeout", async () => {
    const upstream = await upstreamThat((socket) => void socket.write(`${HEAD}x`), {
      idleTimeoutMs: 100,
    });
    expect(await outcomesAfter(upstream, call(upstream, never(), true))).toEqual({
      ...NOTHING,
      timeout: 1,
    });
  });

  it("whose connection breaks before or within the answer counts as broken", async () => {
    const before = await upstreamThat((socket) => socket.destroy());
    expect(await outcomesAfter(before, call(before))).toEqual({ ...NOTHING, broken: 1 });
    await server?.stop();
    const within = await upstreamThat((socket) => {
      socket.write(`${HEAD}x`);
      setTimeout(() => socket.resetAndDestroy(), 50);
    });
    expect(await outcomesAfter(within, call(within))).toEqual({ ...NOTHING, broken: 1 });
    expect(within.figures?.isSilent).toBe(false);
  });

  it("whose client leaves counts as aborted, and says nothing about the server", async () => {
    const client = new AbortController();
    const upstream = await upstreamThat(() => client.abort());
    expect(await outcomesAfter(upstream, call(upstream, client.signal))).toEqual({
      ...NOTHING,
      aborted: 1,
    });
    expect(upstream.figures?.isSilent).toBe(false);
  });

  it("that is made again counts once, with its retries beside", async () => {
    let tries = 0;
    const upstream = await upstreamThat(
      (socket) => {
        tries += 1;
        socket.end(answer(tries < 3 ? 503 : 200));
      },
      { retries: 2 },
    );
    expect(await outcomesAfter(upstream, call(upstream))).toEqual({ ...NOTHING, ok: 1 });
    expect(tries).toBe(3);
    expect(upstream.figures?.retries).toBe(2);
  });
});

describe("a question on the side", () => {
  it("is no call, but tells whether somebody is there", async () => {
    const upstream = await upstreamThat((socket) => socket.end(answer(200)));
    const question = { path: "/", signal: never() };
    if (upstream.figures !== undefined) upstream.figures.isSilent = true;
    expect(await askStatus(upstream, question)).toBe(200);
    expect(upstream.figures).toMatchObject({ outcomes: NOTHING, retries: 0, isSilent: false });
    const nobody = counted(upstreamAt(`http://127.0.0.1:${CLOSED_PORT}`));
    expect(await askStatus(nobody, question)).toBeUndefined();
    expect(nobody.figures).toMatchObject({ outcomes: NOTHING, retries: 0, isSilent: true });
  });
});
