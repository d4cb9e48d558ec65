import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { callGateway, chatBody } from "../support/call-gateway.ts";
import { createCaseTable, noteLaterRoutes } from "../support/case-table.ts";
import {
  CHAT_CALLS,
  ENGINE_KEY,
  ENGINES,
  type Engine,
  errorLines,
  expectCleanOutput,
  type Stage,
  startStage,
  startStages,
} from "../support/engine-stage.ts";
import { expectChatError } from "../support/expect-chat-error.ts";
import type { RawResponse } from "../support/raw-client.ts";
import { startTcpFault, type TcpFault } from "../support/tcp-fault.ts";

const RETRY_AFTER_SECONDS = 7;
const TIMEOUT_SECONDS = 3;
const MODEL = "refused";
const RETRIED = "retried";
const UNANSWERED = "unanswered";
/** An engine's status, ours, our code, the row's outcome. */
const STATUSES: readonly (readonly [number, number, string, string])[] = [
  [400, 400, "invalid_value", "error"],
  [401, 502, "upstream_error", "error"],
  [403, 502, "upstream_error", "error"],
  [404, 502, "upstream_error", "error"],
  [408, 504, "upstream_timeout", "error"],
  [413, 413, "request_too_large", "error"],
  [422, 400, "invalid_value", "error"],
  [429, 429, "rate_limit_exceeded", "rate_limited"],
  [500, 502, "upstream_error", "error"],
  [502, 502, "upstream_error", "error"],
  [503, 502, "upstream_error", "error"],
  [504, 504, "upstream_timeout", "error"],
  [529, 503, "overloaded", "error"],
];

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  413: "invalid_request_error",
  429: "rate_limit_error",
  502: "api_error",
  503: "overloaded_error",
  504: "api_error",
};
const WAITS: Readonly<Record<number, string>> = {
  429: String(RETRY_AFTER_SECONDS),
  503: String(RETRY_AFTER_SECONDS),
};

const table = createCaseTable();
const fronts = new Map<Engine, TcpFault>();
const starting = startStages((engine) => ({
  engine,
  models: [MODEL, RETRIED, UNANSWERED],
  environment: { GATEWAY_RETRIES: "1", LLM_REQUEST_TIMEOUT: String(TIMEOUT_SECONDS) },
  addressOf: async (simulator) => {
    const front = await startTcpFault(simulator);
    fronts.set(engine, front);
    return front.url;
  },
}));
noteLaterRoutes(table, ["S10"]);

for (const engine of ENGINES) describe(`refusals of ${engine}`, () => refusalsOf(engine));
describe("an engine's address that is wrong", wrongAddresses);

function refusalsOf(engine: Engine): void {
  let stage: Stage;
  let front: TcpFault;
  /** Under way from the start, so that their time is nobody's wait. */
  let unanswered: Promise<readonly RawResponse[]>;
  const wanted: string[] = [];

  beforeAll(async () => {
    stage = await starting[engine];
    front = fronts.get(engine) as TcpFault;
    const name = engine === "ollama" ? `${UNANSWERED}:latest` : UNANSWERED;
    const script = {
      match: { ...match, model: name },
      times: 2,
      stall: { at: "headers" },
    } as const;
    stage.simulator.script(script);
    unanswered = Promise.all([call(true, UNANSWERED), call(false, UNANSWERED)]);
  });
  afterAll(async () => {
    await stage.finish();
    await front.stop();
  });

  const shows = (where: string, sentence: string, test: () => Promise<void>) =>
    table.shows("S10", `chat, ${engine}: ${where}`, sentence, test);
  const call = (stream: boolean, model = MODEL) =>
    callGateway(stage.gateway.port, { body: chatBody(model, { stream }) });
  const match = { path: CHAT_CALLS[engine] };

  for (const [theirs, ours, code, outcome] of STATUSES) {
    shows(
      String(theirs),
      `is ${ours} in JSON, streaming or not, without key and address`,
      async () => {
        const message = `no: key ${ENGINE_KEY} at ${front.url} and ${stage.simulator.url}/v1`;
        const body = engine === "vllm" ? { error: { message, code: theirs } } : { error: message };
        const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
        for (const stream of [true, false]) {
          stage.simulator.script({ match, times: 1, respond: { status: theirs, headers, body } });
          const response = await call(stream);
          expect(expectChatError(response, ours, code).type).toBe(TYPES[ours]);
          expectNoSecret(response, front.port, stage.simulator.port);
          expect(response.header("retry-after")).toBe(WAITS[ours]);
          wanted.push(outcome);
        }
      },
    );
  }

  shows("bodies that say nothing", "are refusals all the same", async () => {
    for (const body of [
      "",
      "<html>gone</html>",
      "null",
      "[]",
      '{"error":',
      `"${"x".repeat(200_000)}"`,
    ]) {
      for (const [status, ours] of [
        [400, 400],
        [500, 502],
      ] as const) {
        stage.simulator.script({ match, respond: { status, body } });
        expectChatError(await call(true), ours);
        wanted.push("error");
      }
    }
  });

  shows("429 without a time to wait", "tells one nevertheless", async () => {
    stage.simulator.script({ match, times: 2, respond: { status: 429, body: {} } });
    const response = await call(true);
    expectChatError(response, 429, "rate_limit_exceeded");
    expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
    wanted.push("rate_limited");
  });

  shows("429, 502, 503 once", "is tried again before the first byte", async () => {
    for (const status of [429, 502, 503]) {
      stage.simulator.script({ match, times: 1, respond: { status, body: {} } });
      expect((await call(false, RETRIED)).status).toBe(200);
    }
  });

  shows("no answer in time", "is 504 in JSON, streaming or not", async () => {
    for (const response of await unanswered) expectChatError(response, 504, "upstream_timeout");
  });

  shows(
    "connection refused",
    "is 502 in JSON, and over as soon as the engine is back",
    async () => {
      await front.down();
      for (const stream of [true, false]) {
        const response = await call(stream);
        expectChatError(response, 502, "upstream_error");
        expectNoSecret(response, front.port, stage.simulator.port);
        wanted.push("error");
      }
      await front.up();
      expect((await call(false, RETRIED)).status).toBe(200);
    },
  );

  shows("usage", "has one row a call with its outcome, and no secret is in the log", async () => {
    const rows = await stage.finish();
    expectCleanOutput(stage.gateway);
    const found = rows.filter(({ model }) => model === MODEL).map(({ outcome }) => outcome);
    expect(found.sort()).toEqual(wanted.sort());
    const retried = rows.filter(({ model }) => model === RETRIED).map(({ outcome }) => outcome);
    expect(retried).toEqual(["ok", "ok", "ok", "ok"]);
    const late = rows.filter(({ model }) => model === UNANSWERED).map(({ outcome }) => outcome);
    expect(late).toEqual(["error", "error"]);
    expect(errorLines(stage.gateway)).toEqual([]);
  });
}

function wrongAddresses(): void {
  const sockets = new Set<Socket>();
  const stages = new Map<string, Stage>();
  let garbage: Server;

  const addresses = {
    "TLS garbage": () => `https://127.0.0.1:${(garbage.address() as { port: number }).port}`,
    "DNS failure": () => "http://canary-engine.invalid:8000",
  };
  const cells = ENGINES.flatMap((engine) =>
    Object.entries(addresses).map(([name, addressOf]) => ({
      engine,
      name,
      addressOf,
      cell: `chat, ${engine}: ${name}`,
    })),
  );

  beforeAll(async () => {
    garbage = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("data", () => socket.write("220 this is no TLS at all\r\n".repeat(8)));
    });
    await new Promise<void>((resolve) => garbage.listen(0, "127.0.0.1", resolve));
    const startAll = cells.map(async ({ engine, cell, addressOf }) => {
      stages.set(cell, await startStage({ engine, models: [MODEL], addressOf }));
    });
    await Promise.all(startAll);
  });
  afterAll(async () => {
    await Promise.all([...stages.values()].map((stage) => stage.finish()));
    for (const socket of sockets) socket.destroy();
    garbage.close();
  });

  for (const { cell, addressOf } of cells) {
    table.shows("S10", cell, "is 502 in JSON, streaming or not", async () => {
      const { gateway } = stages.get(cell) as Stage;
      const look = (path: string) => callGateway(gateway.port, { method: "GET", path });
      for (const stream of [true, false]) {
        const response = await callGateway(gateway.port, { body: chatBody(MODEL, { stream }) });
        expectChatError(response, 502, "upstream_error");
        expectNoSecret(response, addressOf(), "canary-engine");
      }
      const ready = await look("/api/ready");
      expect([ready.status, ready.json()]).toMatchObject([503, { failed: ["llm"] }]);
      const health = await look("/v1/health");
      expect([health.status, health.json()]).toMatchObject([200, { ok: false }]);
      const models = await look("/v1/models");
      expect([200, 502]).toContain(models.status);
      for (const answer of [ready, health, models]) {
        expectNoSecret(answer, addressOf(), "canary-engine");
      }
      expectCleanOutput(gateway);
    });
  }
}

/** The client sees neither the engine's key nor any of these parts of its address. */
function expectNoSecret(response: RawResponse, ...parts: readonly (string | number)[]): void {
  const seen = `${JSON.stringify(response.headers)}${response.text}`;
  expect(seen).not.toContain(ENGINE_KEY);
  expect(seen).not.toContain("127.0.0.1");
  for (const part of parts) expect(seen).not.toContain(String(part));
}
