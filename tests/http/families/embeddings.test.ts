import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import type { Script } from "../../../simulator/script.ts";
import { callGateway, openCall } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import {
  ENGINE_KEY,
  ENGINES,
  type Engine,
  errorLines,
  type Stage,
  startStages,
} from "../../support/stages/engine-stage.ts";
import type { StoredUsage } from "../../support/stages/usage/stored-usage.ts";

const PATH = "/v1/embeddings";
const ENGINE_PATHS = { vllm: "/v1/embeddings", ollama: "/api/embed" };
const REFUSALS = [
  // A part of an answer is none.
  [206, 502],
  [400, 400],
  [401, 502],
  [403, 502],
  [404, 502],
  [408, 504],
  [413, 413],
  [422, 400],
  [429, 429],
  [500, 502],
  [503, 503],
  [529, 503],
] as const;

/** Each case has a model of its own, so that its usage row is known by it. */
const MODELS = [
  "default-embed",
  "text-embed",
  "texts-embed",
  "tokens-embed",
  "lists-embed",
  "garbage-embed",
  "cut-embed",
  "left-headers-embed",
  "left-midway-embed",
  ...REFUSALS.map(([status]) => `refused-${status}-embed`),
];

const starting = startStages((engine) => ({
  engine,
  models: [],
  environment: { GATEWAY_RETRIES: "0", GATEWAY_MAX_BODY_BYTES: "100000" },
  simulator: {
    engine,
    models: [
      ...MODELS.map((name) => ({
        name,
        contextLength: 2_048,
        capabilities: ["embedding" as const],
        dimensions: 8,
      })),
      { name: "sim-chat", contextLength: 2_048, capabilities: ["completion" as const] },
    ],
  },
}));

for (const engine of ENGINES) {
  describe(`4.1 POST /v1/embeddings before ${engine}`, () => casesOf(engine));
}

function casesOf(engine: Engine): void {
  let stage: Stage;
  const path = ENGINE_PATHS[engine];

  beforeAll(async () => {
    stage = await starting[engine];
  });
  afterAll(() => stage?.finish());

  const request = (body: unknown) => ({ path: PATH, body });
  const post = (body: unknown) => callGateway(stage.gateway.port, request(body));
  const script = (name: string, what: Script) =>
    stage.simulator.script({
      match: { path, model: engine === "ollama" ? `${name}:latest` : name },
      ...what,
    });
  const asked = () => stage.simulator.ledger().filter((entry) => entry.path === path).length;

  it.each<[string, unknown, string | null]>([
    ["no input", {}, "input"],
    ["a null input", { input: null }, "input"],
    ["an empty text", { input: "" }, "input"],
    ["no texts", { input: [] }, "input"],
    ["an empty text among others", { input: ["a", ""] }, "input[1]"],
    ["a number among texts", { input: ["a", 1] }, "input[1]"],
    ["a text among tokens", { input: [1, "a"] }, "input[1]"],
    ["a broken token", { input: [1, 2.5] }, "input[1]"],
    ["a negative token", { input: [-1] }, "input[0]"],
    ["an empty list of tokens", { input: [[1], []] }, "input[1]"],
    ["a deeper list", { input: [[1, [2]]] }, "input[0][1]"],
    ["an object", { input: { text: "a" } }, "input"],
    ["an object in a list", { input: [{}] }, "input[0]"],
    ["a bool", { input: true }, "input"],
    ["too many texts", { input: Array.from({ length: 2_049 }, () => "a") }, "input"],
    ["an unknown encoding", { input: "a", encoding_format: "hex" }, "encoding_format"],
    ["no dimensions", { input: "a", dimensions: 0 }, "dimensions"],
    ["half a dimension", { input: "a", dimensions: 2.5 }, "dimensions"],
    ["dimensions as text", { input: "a", dimensions: "8" }, "dimensions"],
    ["more dimensions than there are", { input: "a", dimensions: 9 }, "dimensions"],
    ["a model that is no text", { input: "a", model: 7 }, "model"],
    ["a user that is no text", { input: "a", user: 7 }, "user"],
    ["a list for a body", [], null],
    ["null for a body", null, null],
  ])("refuses %s, naming the field", async (name, body, param) => {
    const before = asked();
    const error = expectChatError(await post(JSON.stringify(body)), 400);
    if (name.startsWith("more dimensions")) {
      // vLLM refuses in its own words.
      if (engine === "ollama")
        expect(error).toMatchObject({ code: "unsupported_parameter", param });
      else expect(error.message).toContain("dimensions");
      return;
    }
    expect(error).toMatchObject({ code: "invalid_value", param });
    expect(asked()).toBe(before);
  });

  it("takes null for a field that is absent", async () => {
    const body = { input: "a", model: null, encoding_format: null, dimensions: null, user: null };
    expect((await post(body)).json()).toMatchObject({
      data: [{ embedding: expect.any(Array) }],
      model: expect.stringMatching(/^default-embed/),
    });
  });

  it("refuses a broken, an overlong and an untyped body as every route does", async () => {
    expectChatError(await post('{"input":'), 400, "invalid_json");
    expectChatError(await post({ input: "a".repeat(100_001) }), 413, "request_too_large");
    const untyped = { path: PATH, headers: { "content-type": "text/plain" }, body: "{}" };
    expectChatError(await callGateway(stage.gateway.port, untyped), 415, "unsupported_media_type");
    const keyless = { path: PATH, headers: { authorization: undefined }, body: { input: "a" } };
    expectChatError(await callGateway(stage.gateway.port, keyless), 401, "invalid_api_key");
  });

  it.each(REFUSALS)(
    "tells the engine's %i as %i, without its key and address",
    async (from, to) => {
      const { url, port } = stage.simulator;
      const message = `no ${ENGINE_KEY} at ${url}`;
      const error = engine === "ollama" ? message : { message };
      script(`refused-${from}-embed`, {
        respond: { status: from, body: { error }, headers: { "retry-after": "7" } },
      });
      const response = await post({ input: "a", model: `refused-${from}-embed` });
      expectChatError(response, to);
      expect(response.text).not.toContain(ENGINE_KEY);
      expect(response.text).not.toContain(String(port));
      if (to === 429) expect(response.header("retry-after")).toBe("7");
    },
  );

  it.each<[string, unknown]>([
    ["HTML", "<html>"],
    ["null", "null"],
    ["nothing", {}],
    ["too few vectors", { data: [], embeddings: [] }],
    [
      "too many vectors",
      { data: [{ embedding: [1] }, { embedding: [1] }], embeddings: [[1], [1]] },
    ],
    ["an empty vector", { data: [{ embedding: [] }], embeddings: [[]] }],
    ["texts in a vector", { data: [{ embedding: ["1"] }], embeddings: [["1"]] }],
    ["null in a vector", { data: [{ embedding: [null] }], embeddings: [[null]] }],
    ["broken base64", { data: [{ embedding: "AAA" }], embeddings: ["AAA"] }],
    ["a wrong index", { data: [{ embedding: [1], index: 1 }], embeddings: [7] }],
    ["an error with 200", { error: { message: "out of memory" } }],
  ])("turns the engine's garbage into a clear error: %s", async (_, body) => {
    script("garbage-embed", { respond: { status: 200, body } });
    expectChatError(await post({ input: "a", model: "garbage-embed" }), 502, "upstream_error");
  });

  it("tells that the engine broke off midway", async () => {
    script("cut-embed", { cut: { at: 1, how: "reset" } });
    expectChatError(await post({ input: "abcde", model: "cut-embed" }), 502, "upstream_error");
  });

  it.each(["headers", "midway"])("stops the engine when the client leaves: %s", async (moment) => {
    const name = `left-${moment}-embed`;
    script(name, { stall: { at: moment === "headers" ? "headers" : 1 } });
    const client = await openCall(stage.gateway.port, request({ input: "abcde", model: name }));
    const isHere = (entry: LedgerEntry) =>
      entry.path === path && entry.model?.startsWith(name) === true;
    await stage.simulator.awaitEntry(isHere);
    await sleep(50);
    client.close();
    const entry = await stage.simulator.awaitEntry((one) => isHere(one) && one.end !== undefined);
    expect(entry.end).toBe("client-left");
  });

  it("has one usage row a call, with a token for every four characters", async () => {
    await post({ input: "12345", model: "text-embed" });
    await post({ input: ["1", "2", "3", "4", "56789"], model: "texts-embed" });
    await post({ input: [5, 6, 7], model: "tokens-embed" });
    await post({ input: [[5, 6, 7], [8]], model: "lists-embed" });
    expect(errorLines(stage.gateway)).toEqual([]);
    const rows = await stage.finish();
    const row = (model: string) => summaries(rows, model);
    expect(row("text-embed")).toEqual(["ok 200 2 0 true"]);
    expect(row("texts-embed")).toEqual(["ok 200 3 0 true"]);
    const isText = engine === "ollama";
    expect(row("tokens-embed")).toEqual(isText ? [] : ["ok 200 3 0 true"]);
    expect(row("lists-embed")).toEqual(isText ? [] : ["ok 200 4 0 true"]);
    expect(row("cut-embed")).toEqual(["error 502 0 0 true"]);
    expect(row("left-headers-embed")).toEqual(["aborted 499 2 0 true"]);
    expect(row("left-midway-embed")).toEqual(["aborted 499 2 0 true"]);
    for (const [status, seen] of REFUSALS) {
      const outcome = status === 429 ? "rate_limited" : "error";
      const inputTokens = seen === 504 ? 1 : 0;
      expect(row(`refused-${status}-embed`)).toEqual([`${outcome} ${seen} ${inputTokens} 0 true`]);
    }
    expect(new Set(rows.map(({ channel }) => channel))).toEqual(new Set(["embeddings"]));
  });
}

function summaries(rows: readonly StoredUsage[], model: string): readonly string[] {
  return rows
    .filter((row) => row.model === model)
    .map(
      ({ outcome, status, inputTokens, outputTokens, estimated }) =>
        `${outcome} ${status} ${inputTokens} ${outputTokens} ${estimated}`,
    );
}
