import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { CHAT_PATH, callGateway, chatBody, openCall } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { openRawClient, type RawClient, rawRequest } from "../../support/clients/raw-client.ts";
import { chunk } from "../../support/servers/scripted-upstream.ts";
import { TEST_KEY } from "../../support/servers/start-gateway.ts";
import { type Stage, startStage } from "../../support/stages/engine-stage.ts";

const LIMIT_BYTES = 1024 * 1024;
/** What the kernel buffers at most on both sides of loopback: 32 MiB to read (`tcp_rmem`), 4 MiB to write (`tcp_wmem`). */
const KERNEL_BYTES = 36 * 1024 * 1024;
/** What is sent at most to a server that reads on and on. */
const PUMPED_BYTES = 96 * 1024 * 1024;
const PIECE_BYTES = 128 * 1024;
const MODEL = "edge";
const OPEN_PATHS = ["/v1/health", "/api/health", "/api/ready", "/v1/openapi.json", "/v1/docs"];
const KEY = { authorization: `Bearer ${TEST_KEY}` };
const JSON_TYPE = { "content-type": "application/json" };

const table = createCaseTable({
  H03: `${LIMIT_BYTES / 2 ** 20} MiB allowed, up to ${PUMPED_BYTES / 2 ** 20} MiB sent`,
  H04: `${LIMIT_BYTES / 2 ** 20} MiB allowed, up to ${PUMPED_BYTES / 2 ** 20} MiB sent`,
});
const { shows, leavesOut } = table;
noteLaterRoutes(table, ["H03", "H04"]);

let stage: Stage;
let port: number;

beforeAll(async () => {
  stage = await startStage({
    engine: "vllm",
    models: [MODEL],
    environment: { GATEWAY_MAX_BODY_BYTES: String(LIMIT_BYTES) },
  });
  port = stage.gateway.port;
});
afterAll(async () => {
  const rows = await stage.finish();
  expect(rows.map(({ outcome }) => outcome)).toEqual(rows.map(() => "ok"));
});

/** Sends a head and then pieces without end, until the other side closes; tells how many bytes it took in. */
async function pump(head: string, piece: Buffer): Promise<{ sentBytes: number; answer: string }> {
  const socket = connect({ port, host: "127.0.0.1" });
  let answer = "";
  let sentBytes = 0;
  let isOver = false;
  const over = new Promise<void>((resolve) => {
    socket.on("data", (bytes: Buffer) => {
      answer += bytes.toString("latin1");
    });
    for (const event of ["end", "error", "close"]) {
      socket.on(event, () => {
        isOver = true;
        resolve();
      });
    }
  });
  socket.write(head);
  const until = Date.now() + 60_000;
  while (!isOver && sentBytes < PUMPED_BYTES && Date.now() < until) {
    if (!socket.write(piece)) await Promise.race([drained(socket), over, sleep(60_000)]);
    if (!isOver) sentBytes += piece.length;
  }
  await Promise.race([over, sleep(30_000)]);
  socket.destroy();
  return { sentBytes: isOver ? sentBytes : Number.POSITIVE_INFINITY, answer };
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("drain", resolve));
}

async function isClosedWithin(client: RawClient, timeoutMs: number): Promise<boolean> {
  const late = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), timeoutMs));
  return (await Promise.race([client.closed, late])) !== "late";
}

async function exchange(bytes: string, method = "GET") {
  const client = await openRawClient(port);
  client.send(bytes);
  const response = await client.readResponse({ method });
  return { client, response };
}

function memoryBytes(): number {
  const status = readFileSync(`/proc/${stage.gateway.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

function chatCalls(): number {
  return stage.simulator.ledger().filter(({ path }) => path === CHAT_PATH).length;
}

async function expectNormalCall(): Promise<void> {
  const response = await callGateway(port, { body: chatBody(MODEL) });
  expect(response.status).toBe(200);
}

describe("a body over the limit", () => {
  shows("H03", "chat", "is refused by its announced length before it is sent", async () => {
    const head = { "content-length": String(LIMIT_BYTES + 1), ...KEY, ...JSON_TYPE };
    const { client, response } = await exchange(rawRequest("POST", CHAT_PATH, head), "POST");
    const error = expectChatError(response, 413, "request_too_large");
    expect(error.type).toBe("invalid_request_error");
    expect(response.header("connection")).toBe("close");
    expect(await isClosedWithin(client, 30_000)).toBe(true);
  });

  const pumped = {
    "with the key": KEY,
    "without a key": {},
    "to a path that is not there": { path: "/v1/nothing" },
  };
  for (const [name, { path = CHAT_PATH, ...headers }] of Object.entries<Record<string, string>>(
    pumped,
  )) {
    shows("H03", `chat, ${name}`, "is not read on after the refusal", async () => {
      const head = { "content-length": "4294967296", ...JSON_TYPE, ...headers };
      const { sentBytes } = await pump(
        rawRequest("POST", path, head),
        Buffer.alloc(PIECE_BYTES, 32),
      );
      expect(sentBytes).toBeLessThan(LIMIT_BYTES + KERNEL_BYTES);
    });
  }

  shows("H04", "chat", "is refused when it comes in chunks without a length", async () => {
    const before = { calls: chatCalls(), bytes: memoryBytes() };
    const head = rawRequest("POST", CHAT_PATH, {
      "transfer-encoding": "chunked",
      ...KEY,
      ...JSON_TYPE,
    });
    const { sentBytes, answer } = await pump(head, chunk(Buffer.alloc(PIECE_BYTES, 32)));
    expect(sentBytes).toBeLessThan(LIMIT_BYTES + KERNEL_BYTES);
    // A client that writes on and on may lose the answer to the reset; one that reads gets it (next case).
    expect(answer).toMatch(/^$|^HTTP\/1\.1 413 .*"code":"request_too_large"/s);
    expect(chatCalls()).toBe(before.calls);
    expect(memoryBytes() - before.bytes).toBeLessThan(2 * LIMIT_BYTES + 48 * 1024 * 1024);
  });

  shows(
    "H04",
    "chat",
    "is refused in chunks just over the limit, the answer read in peace",
    async () => {
      const body = `${chunk("{")}${chunk(" ".repeat(LIMIT_BYTES))}`;
      const head = rawRequest("POST", CHAT_PATH, {
        "transfer-encoding": "chunked",
        ...KEY,
        ...JSON_TYPE,
      });
      const { client, response } = await exchange(head + body, "POST");
      expectChatError(response, 413, "request_too_large");
      expect(await isClosedWithin(client, 30_000)).toBe(true);
    },
  );

  shows("H03", "chat", "at the limit exactly is read", async () => {
    const body = JSON.stringify(chatBody(MODEL)).padEnd(LIMIT_BYTES);
    expect((await callGateway(port, { body })).status).toBe(200);
  });

  // Bun resets the connection when it closes it, and the reset may overtake the answer.
  if ("Bun" in globalThis) leavesOut("H03", "chat, a body sent to its end", "left out: Bun resets");
  else {
    shows("H03", "chat, a body sent to its end", "is refused, and the answer arrives", async () => {
      for (const bytes of [LIMIT_BYTES + 1, 2 * LIMIT_BYTES, 20 * LIMIT_BYTES]) {
        const response = await callGateway(port, { body: Buffer.alloc(bytes, 32) });
        expectChatError(response, 413, "request_too_large");
      }
    });
  }

  shows(
    "H04",
    "chat",
    "with both a length and chunks is refused and the connection closed",
    async () => {
      const before = chatCalls();
      const text = JSON.stringify(chatBody(MODEL));
      const chunked = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
      const head = { ...KEY, ...JSON_TYPE, "transfer-encoding": "chunked", "content-length": "3" };
      const smuggled = rawRequest("GET", "/api/health", {});
      const { client, response } = await exchange(
        rawRequest("POST", CHAT_PATH, head) + chunked + smuggled,
        "POST",
      );
      expect(response.status).toBe(400);
      expect(await isClosedWithin(client, 30_000)).toBe(true);
      expect(
        client
          .received()
          .toString()
          .match(/HTTP\/1\.1 /g),
      ).toHaveLength(1);
      expect(chatCalls()).toBe(before);
    },
  );
});

describe("the Host header", () => {
  const wrong = {
    missing: "GET /api/health HTTP/1.1\r\n\r\n",
    doubled: "GET /api/health HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
    "doubled alike": "GET /api/health HTTP/1.1\r\nHost: a.example\r\nhost: a.example\r\n\r\n",
    empty: "GET /api/health HTTP/1.1\r\nHost: \r\n\r\n",
    "with a path": "GET /api/health HTTP/1.1\r\nHost: a.example/v1\r\n\r\n",
    "with a user": "GET /api/health HTTP/1.1\r\nHost: u@a.example\r\n\r\n",
    "with a wrong port": "GET /api/health HTTP/1.1\r\nHost: a.example:port\r\n\r\n",
    "with a space": "GET /api/health HTTP/1.1\r\nHost: a b\r\n\r\n",
    "with a query": "GET /api/health HTTP/1.1\r\nHost: a.example?x\r\n\r\n",
    "missing on a call": `POST ${CHAT_PATH} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}`,
  };
  for (const [name, bytes] of Object.entries(wrong)) {
    shows("H13", `all routes: ${name}`, "is refused and the connection closed", async () => {
      const { client, response } = await exchange(bytes);
      expect(response.status).toBe(400);
      // Bun itself refuses a request without a Host, and has no body for it.
      if (response.text !== "") expectChatError(response, 400, "invalid_value");
      else expect(name).toMatch(/^missing/);
      expect(await isClosedWithin(client, 30_000)).toBe(true);
    });
  }

  shows(
    "H13",
    "all routes: well-formed",
    "passes, with port, in brackets, in any case",
    async () => {
      for (const host of ["a.example", "A.Example:8080", "[::1]:8080", "127.0.0.1"]) {
        const { client, response } = await exchange(rawRequest("GET", "/api/health", { host }));
        expect([host, response.status]).toEqual([host, 200]);
        client.close();
      }
    },
  );

  shows(
    "H13",
    "all routes: absolute target",
    "is served by the path or refused, never otherwise",
    async () => {
      const bytes = "GET http://b.example/api/health HTTP/1.1\r\nHost: a.example\r\n\r\n";
      const { client, response } = await exchange(bytes);
      expect([200, 400]).toContain(response.status);
      client.close();
    },
  );
});

describe("paths and methods that are not served", () => {
  const unknown = [
    "/",
    "/v1",
    "/v1/chat",
    "/v1/nothing",
    "/v1/v1/models",
    "/api/none",
    "/.env",
    "/v1/models/",
  ];
  for (const path of unknown) {
    shows("H14", path, "is 404 in the chat form", async () => {
      const response = await callGateway(port, { method: "GET", path });
      expectChatError(response, 404);
      expectNoBanner(response.headers);
    });
  }

  for (const path of OPEN_PATHS) {
    shows(
      "H14",
      path,
      "refuses POST with 405 and Allow, and answers HEAD without a body",
      async () => {
        const response = await callGateway(port, { method: "POST", path, body: {} });
        expectChatError(response, 405, "method_not_allowed");
        expect(response.header("allow")).toMatch(/GET/);
        expectNoBanner(response.headers);
        const head = await callGateway(port, { method: "HEAD", path });
        expect([head.status, head.text]).toEqual([200, ""]);
      },
    );
  }

  for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
    shows("H14", `chat: ${method}`, "is 405 with Allow", async () => {
      const response = await callGateway(port, { method, path: CHAT_PATH });
      expectChatError(response, 405, "method_not_allowed");
      expect(response.header("allow")).toBe("POST");
    });
  }

  shows("H14", "chat: HEAD", "is 405 with Allow and no body", async () => {
    const response = await callGateway(port, { method: "HEAD", path: CHAT_PATH });
    expect([response.status, response.text]).toEqual([405, ""]);
    expect(response.header("allow")).toBe("POST");
  });

  shows("H14", "models: OPTIONS, POST", "is 405 with Allow", async () => {
    for (const path of ["/v1/models", "/v1/models/edge"]) {
      for (const method of ["OPTIONS", "POST"]) {
        const response = await callGateway(port, { method, path });
        expectChatError(response, 405, "method_not_allowed");
        expect(response.header("allow")).toMatch(/GET/);
      }
    }
  });

  const garbage = [
    "FOO / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
    "\x16\x03\x01\x02",
  ];
  for (const bytes of garbage) {
    shows(
      "H14",
      `no HTTP: ${JSON.stringify(bytes).slice(0, 24)}`,
      "is refused without words of our inside",
      async () => {
        const client = await openRawClient(port);
        client.send(bytes);
        client.halfClose();
        expect(await isClosedWithin(client, 60_000)).toBe(true);
        expect(client.received().toString()).not.toMatch(/\n\s+at |node_modules|Bun|Hono/);
        client.close();
      },
    );
  }

  shows("H14", "all", "the next request is normal", expectNormalCall);

  shows("H03", "keep-alive", "a refused small body leaves the connection usable", async () => {
    const client = await openCall(port, { body: "{" });
    expectChatError(await client.readResponse({ method: "POST" }), 400, "invalid_json");
    client.send(rawRequest("GET", "/api/health", {}));
    expect((await client.readResponse()).status).toBe(200);
    client.close();
  });
});

function expectNoBanner(headers: readonly (readonly [string, string])[]): void {
  const names = headers.map(([name]) => name.toLowerCase());
  expect(names).not.toContain("x-powered-by");
  expect(names).not.toContain("server");
  expect(names).toContain("x-request-id");
}
