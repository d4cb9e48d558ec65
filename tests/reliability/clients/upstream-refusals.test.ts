import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { CLIENT_FAMILIES, type ClientFamily } from "../../support/clients/client-family.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { startTcpFault, type TcpFault } from "../../support/faults/tcp-fault.ts";
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
} from "../../support/stages/engine-stage.ts";

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
  [503, 503, "overloaded", "error"],
  [504, 504, "upstream_timeout", "error"],
  [529, 503, "overloaded", "error"],
];

/** In the chat form; the messages form's own words are known to its family. */
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
  529: String(RETRY_AFTER_SECONDS),
};

const table = createCaseTable({
  S10: "each status and failure, each family and engine, whole and streamed",
});
const fronts = new Map<Engine, TcpFault>();
const starting = startStages((engine) => ({
  engine,
  models: CLIENT_FAMILIES.flatMap(({ name }) =>
    [MODEL, RETRIED, UNANSWERED].map((model) => `${model}-${name}`),
  ),
  environment: { GATEWAY_RETRIES: "1", LLM_REQUEST_TIMEOUT: String(TIMEOUT_SECONDS) },
  addressOf: async (simulator) => {
    const front = await startTcpFault(simulator);
    fronts.set(engine, front);
    return front.url;
  },
}));
noteLaterRoutes(table, ["S10"]);

for (const engine of ENGINES) {
  describe(`refusals of ${engine}`, () => {
    let stage: Stage;
    let front: TcpFault;

    beforeAll(async () => {
      stage = await starting[engine];
      front = fronts.get(engine) as TcpFault;
    });
    afterAll(async () => {
      await stage.finish();
      await front.stop();
    });

    const wanted = new Map<string, string[]>();
    for (const family of CLIENT_FAMILIES) {
      const outcomes: string[] = [];
      wanted.set(family.name, outcomes);
      refusalsOf({ engine, family, outcomes, stageOf: () => stage, frontOf: () => front });
    }
    rowsOf(engine, wanted, () => stage);
  });
}
describe("an engine's address that is wrong", wrongAddresses);

interface Place {
  readonly engine: Engine;
  readonly family: ClientFamily;
  /** Grows with what each call's row must say. */
  readonly outcomes: string[];
  readonly stageOf: () => Stage;
  readonly frontOf: () => TcpFault;
}

function refusalsOf({ engine, family, outcomes, stageOf, frontOf }: Place): void {
  const shows = (where: string, sentence: string, test: () => Promise<void>) =>
    table.shows("S10", `${family.name}, ${engine}: ${where}`, sentence, test);
  const call = (stream: boolean, model = MODEL) => {
    const body = family.body(`${model}-${family.name}`, { stream });
    return callGateway(stageOf().gateway.port, { path: family.path, body });
  };
  const matchOf = (model: string) => {
    const tag = engine === "ollama" ? ":latest" : "";
    return { path: CHAT_CALLS[engine], model: `${model}-${family.name}${tag}` };
  };
  const match = matchOf(MODEL);

  for (const [theirs, usual, code, outcome] of STATUSES) {
    const ours = theirs === 529 ? family.overloadedStatus : usual;
    shows(
      String(theirs),
      `is ${ours} in JSON, streaming or not, without key and address`,
      async () => {
        const [stage, front] = [stageOf(), frontOf()];
        const message = `no: key ${ENGINE_KEY} at ${front.url} and ${stage.simulator.url}/v1`;
        const body = engine === "vllm" ? { error: { message, code: theirs } } : { error: message };
        const headers = { "retry-after": String(RETRY_AFTER_SECONDS) };
        for (const stream of [true, false]) {
          stage.simulator.script({ match, times: 1, respond: { status: theirs, headers, body } });
          const response = await call(stream);
          const type = family.expectError(response, ours, code);
          if (family.name !== "messages") expect(type).toBe(TYPES[ours]);
          expectNoSecret(response, front.port, stage.simulator.port);
          expect(response.header("retry-after")).toBe(WAITS[ours]);
          outcomes.push(outcome);
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
        stageOf().simulator.script({ match, respond: { status, body } });
        family.expectError(await call(true), ours);
        outcomes.push("error");
      }
    }
  });

  shows("429 without a time to wait", "tells one nevertheless", async () => {
    stageOf().simulator.script({ match, times: 2, respond: { status: 429, body: {} } });
    const response = await call(true);
    family.expectError(response, 429, "rate_limit_exceeded");
    expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
    outcomes.push("rate_limited");
  });

  shows("429, 502, 503 once", "is tried again before the first byte", async () => {
    for (const status of [429, 502, 503]) {
      const respond = { status, body: {} };
      stageOf().simulator.script({ match: matchOf(RETRIED), times: 1, respond });
      expect((await call(false, RETRIED)).status).toBe(200);
    }
  });

  shows("no answer in time", "is 504 in JSON, streaming or not", async () => {
    const stall = { at: "headers" } as const;
    stageOf().simulator.script({ match: matchOf(UNANSWERED), times: 2, stall });
    const answers = await Promise.all([call(true, UNANSWERED), call(false, UNANSWERED)]);
    for (const response of answers) {
      family.expectError(response, 504, "upstream_timeout");
    }
  });

  shows(
    "connection refused",
    "is 502 in JSON, and over as soon as the engine is back",
    async () => {
      const [stage, front] = [stageOf(), frontOf()];
      await front.down();
      for (const stream of [true, false]) {
        const response = await call(stream);
        family.expectError(response, 502, "upstream_error");
        expectNoSecret(response, front.port, stage.simulator.port);
        outcomes.push("error");
      }
      await front.up();
      expect((await call(false, RETRIED)).status).toBe(200);
    },
  );
}

function rowsOf(
  engine: Engine,
  wanted: ReadonlyMap<string, readonly string[]>,
  stageOf: () => Stage,
): void {
  const sentence = "has one row a call with its outcome, and no secret is in the log";
  table.shows("S10", `all families, ${engine}: usage`, sentence, async () => {
    const stage = stageOf();
    const rows = await stage.finish();
    expectCleanOutput(stage.gateway);
    for (const [family, outcomes] of wanted) {
      const outcomesOf = (name: string) =>
        rows
          .filter(({ model, channel }) => model === `${name}-${family}` && channel === family)
          .map(({ outcome }) => outcome);
      expect(outcomesOf(MODEL).sort()).toEqual([...outcomes].sort());
      expect(outcomesOf(RETRIED)).toEqual(["ok", "ok", "ok", "ok"]);
      expect(outcomesOf(UNANSWERED)).toEqual(["error", "error"]);
    }
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
  // One engine for each: that a failed connection is the same to all of them is shown above.
  const cells = Object.entries(addresses).map(([name, addressOf], index) => {
    const engine = ENGINES[index % ENGINES.length] as Engine;
    return { engine, addressOf, cell: `chat, ${engine}: ${name}` };
  });

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
