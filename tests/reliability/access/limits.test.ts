import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { audioForm, FORM_TYPE } from "../../support/clients/audio-form.ts";
import {
  callGateway,
  chatBody,
  type GatewayRequest,
  openCall,
} from "../../support/clients/call-gateway.ts";
import { CLIENT_FAMILIES } from "../../support/clients/client-family.ts";
import {
  type IssuedKey,
  issueKey,
  type LimitFields,
  readLimitUse,
  settledUse,
} from "../../support/clients/issue-key.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  CHAT_CALLS,
  ENGINES,
  type Engine,
  type Stage,
  startStage,
} from "../../support/stages/engine-stage.ts";
import { createMovedClock, type MovedClock } from "../../support/stages/moved-clock.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Calls at once, a key's limit a minute. */
const FLOOD = trialSize({ calls: 200, limit: 50 }, { calls: 1_000, limit: 100 });

// K03, K05, K06 and K07 of the reliability plan, on one replica.

/** Puts the key in place of the one that every test gateway knows. */
function withKey({ key }: IssuedKey, request: GatewayRequest): GatewayRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } };
}

function statusesOf(responses: readonly RawResponse[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The chat calls that reached the engine for a model. */
function callsOf({ simulator, engine }: Stage, model: string) {
  return simulator
    .ledger()
    .filter((entry) => entry.path === CHAT_CALLS[engine] && entry.model?.startsWith(model));
}

function expectRefusal(response: RawResponse, code: string): void {
  expect([response.status, response.text]).toEqual([429, response.text]);
  expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
  const { error } = response.json() as { error: { type: string; code?: string } };
  expect(error.type).toBe("rate_limit_error");
  // The messages form has no codes.
  if (error.code !== undefined) expect(error.code).toBe(code);
}

describe("Requests in any 60 seconds", () => {
  const MODELS = ["burst", "flood", "edge"];
  let clock: MovedClock;
  let ahead = 0;
  let stage: Stage;

  beforeAll(async () => {
    clock = await createMovedClock();
    await clock.moveTo(0, []);
    stage = await startStage({
      engine: "vllm",
      models: MODELS,
      environment: clock.environment,
    });
  });
  afterAll(async () => {
    await stage?.finish();
    await clock?.remove();
  });

  /** Lets time pass for the server. */
  async function pass(seconds: number): Promise<void> {
    ahead += seconds;
    await clock.passTo(ahead * 1_000, [stage.gateway]);
  }

  async function ask(key: IssuedKey, model: string, count: number): Promise<RawResponse[]> {
    const request = withKey(key, { body: chatBody(model, { max_tokens: 8 }) });
    const asking = Array.from({ length: count }, () =>
      callGateway(stage.gateway.port, request, 60_000),
    );
    return Promise.all(asking);
  }

  it("K03: of 500 calls at once 60 reach the engine, and who waits as told is served", async () => {
    const key = await issueKey(stage.gateway, { rpm_limit: 60 });
    const responses = await ask(key, "burst", 500);
    expect(statusesOf(responses)).toEqual({ 200: 60, 429: 440 });
    expect(callsOf(stage, "burst")).toHaveLength(60);
    const refused = responses.filter(({ status }) => status === 429);
    const waits = refused.map((response) => {
      expectRefusal(response, "rate_limit_exceeded");
      expect(response.header("x-should-retry")).toBeUndefined();
      return Number(response.header("retry-after"));
    });
    expect(Math.max(...waits)).toBeLessThanOrEqual(60);
    await pass(Math.max(...waits));
    expect(statusesOf(await ask(key, "burst", 1))).toEqual({ 200: 1 });
  });

  it(`K03: of ${FLOOD.calls} calls at once a key of ${FLOOD.limit} has exactly so many`, async () => {
    const { calls, limit } = FLOOD;
    const key = await issueKey(stage.gateway, { rpm_limit: limit });
    expect(statusesOf(await ask(key, "flood", calls))).toEqual({ 200: limit, 429: calls - limit });
    expect(callsOf(stage, "flood")).toHaveLength(limit);
  });

  it("K07: the edge of a minute opens no second window", async () => {
    const key = await issueKey(stage.gateway, { rpm_limit: 60 });
    const second = ((Date.now() / 1_000 + ahead) % 60) + 0.15;
    await pass((119.5 - second) % 60);
    expect(statusesOf(await ask(key, "edge", 60))).toEqual({ 200: 60 });
    await pass(1);
    expect(statusesOf(await ask(key, "edge", 60))).toEqual({ 429: 60 });
    await pass(60);
    expect(statusesOf(await ask(key, "edge", 61))).toEqual({ 200: 60, 429: 1 });
    expect(callsOf(stage, "edge")).toHaveLength(120);
  });
});

describe.each(ENGINES)("K05: a month of 10,000 tokens before %s", (engine: Engine) => {
  const MONTH = 10_000;
  const keys = new Map<string, IssuedKey>();
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage({ engine, models: CLIENT_FAMILIES.map(({ name }) => `of-${name}`) });
  });
  afterAll(() => stage?.finish());

  it.each(CLIENT_FAMILIES)("is never exceeded by 50 calls at once ($name)", async (family) => {
    const key = await issueKey(stage.gateway, { monthly_token_limit: MONTH });
    keys.set(family.name, key);
    const model = `of-${family.name}`;
    const most = family.name === "responses" ? "max_output_tokens" : "max_tokens";
    const ask = (text: string, stream: boolean) =>
      callGateway(
        stage.gateway.port,
        withKey(key, {
          path: family.path,
          body: family.body(model, { [most]: 1_000, stream }, text),
        }),
      );
    const asking = (index: number) =>
      ask(index % 2 === 0 ? "count to 5000" : "Say something short.", index % 3 === 0);
    const used = () => settledUse(stage.gateway, key, "monthly_tokens");

    // Waves until a call alone is refused: what one does not use the next one has.
    let refused: RawResponse | undefined;
    for (let wave = 0; refused === undefined; wave++) {
      expect(wave).toBeLessThan(20);
      const responses = await Promise.all(Array.from({ length: 50 }, (_, index) => asking(index)));
      for (const response of responses) {
        expect([200, 429]).toContain(response.status);
        expect(response.isComplete).toBe(true);
      }
      if (wave === 0) expect(statusesOf(responses)[200]).toBeGreaterThan(3);
      expect((await used()).used).toBeLessThanOrEqual(MONTH);
      const alone = await asking(0);
      if (alone.status === 429) refused = alone;
    }
    expectRefusal(refused, "monthly_limit_exceeded");
    expect(refused.header("x-should-retry")).toBe("false");
    const { used: spent } = await used();
    // Where the engine counts, all but a margin can be used; elsewhere the bytes of a prompt and its template stay.
    expect(spent).toBeGreaterThan(MONTH - (engine === "vllm" ? 100 : 700));

    const told = callsOf(stage, model).map((entry) => entry.told);
    const sum = told.reduce((sum, usage) => sum + usage!.inputTokens + usage!.outputTokens, 0);
    expect(sum).toBe(spent);
    expect(sum).toBeLessThanOrEqual(MONTH);
  });

  it("and its rows tell no more either", async () => {
    const rows = await stage.finish();
    for (const [, { id }] of keys) {
      const own = rows.filter(({ keyId }) => keyId === id);
      const sum = own.reduce((sum, row) => sum + row.inputTokens + row.outputTokens, 0);
      expect(sum).toBeGreaterThan(MONTH - 700);
      expect(sum).toBeLessThanOrEqual(MONTH);
      expect(own.every(({ outcome }) => outcome === "ok")).toBe(true);
    }
  });
});

describe("K06: every limit, on every metered route,", () => {
  const PLACES: Readonly<Record<string, GatewayRequest>> = {
    chat: { body: chatBody("plain", { max_tokens: 8 }) },
    messages: {
      path: "/v1/messages",
      body: chatBody("plain", { max_tokens: 8 }),
    },
    responses: { path: "/v1/responses", body: { model: "plain", input: "hello" } },
    embeddings: { path: "/v1/embeddings", body: { model: "sim-embed", input: "four" } },
    audio: {
      path: "/v1/audio/transcriptions",
      headers: FORM_TYPE,
      body: audioForm("openai/whisper-large-v3"),
    },
  };
  const LIMITS: readonly (readonly [field: keyof LimitFields, code: string])[] = [
    ["rpm_limit", "rate_limit_exceeded"],
    ["request_limit", "request_limit_exceeded"],
    ["token_limit", "token_limit_exceeded"],
    ["monthly_token_limit", "monthly_limit_exceeded"],
  ];
  const CASES = Object.keys(PLACES).flatMap((place) =>
    LIMITS.map(([field, code]) => ({ place, field, code })),
  );
  /** One token: an embedding of four letters, and what may exceed it, a transcript. */
  const HAS_ONE_TOKEN = ["embeddings", "audio"];
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage({
      engine: "vllm",
      models: ["plain"],
      simulator: {
        models: [
          { name: "plain", contextLength: 8_192, capabilities: ["completion"] },
          { name: "sim-embed", contextLength: 8_192, capabilities: ["embedding"] },
        ],
      },
    });
  });
  afterAll(() => stage?.finish());

  async function ask(key: IssuedKey, place: string): Promise<RawResponse> {
    return callGateway(stage.gateway.port, withKey(key, PLACES[place] ?? {}));
  }

  it.each(CASES)("$field on $place: 0 refuses, and nothing reaches the engine", async (one) => {
    const key = await issueKey(stage.gateway, { [one.field]: 0 });
    stage.simulator.reset();
    const response = await ask(key, one.place);
    expectRefusal(response, one.code);
    expect(response.header("x-should-retry")).toBe("false");
    expect(stage.simulator.ledger().filter(({ method }) => method === "POST")).toEqual([]);
  });

  it.each(CASES)("$field on $place: null is unlimited", async ({ field, place }) => {
    const key = await issueKey(stage.gateway, { [field]: null });
    for (let count = 0; count < 3; count++) expect((await ask(key, place)).status).toBe(200);
  });

  it.each(CASES)("$field on $place: 1 is one", async ({ field, place, code }) => {
    const key = await issueKey(stage.gateway, { [field]: 1 });
    const isOfTokens = field.endsWith("token_limit");
    if (!isOfTokens || HAS_ONE_TOKEN.includes(place)) {
      expect((await ask(key, place)).status).toBe(200);
    }
    const refused = await ask(key, place);
    expectRefusal(refused, code);
    const mayWait = field === "rpm_limit";
    expect(refused.header("x-should-retry")).toBe(mayWait ? undefined : "false");
    if (mayWait) expect(Number(refused.header("retry-after"))).toBeLessThanOrEqual(60);
  });

  it.each(Object.keys(PLACES))(
    "a call under way on %s holds tokens, and a client that leaves gives them back",
    async (place) => {
      const key = await issueKey(stage.gateway, { token_limit: 100_000 });
      stage.simulator.reset();
      stage.simulator.script({ stall: { at: "headers" } });
      const client = await openCall(stage.gateway.port, withKey(key, PLACES[place] ?? {}));
      await stage.simulator.awaitEntry(({ method }) => method === "POST");
      const { reserved } = await readLimitUse(stage.gateway, key, "tokens");
      expect(reserved).toBeGreaterThan(0);
      client.reset();
      const { used } = await settledUse(stage.gateway, key, "tokens");
      expect(used).toBeLessThanOrEqual(reserved);
    },
  );

  it("a recording holds what its length may bring, or all that is left", async () => {
    const key = await issueKey(stage.gateway, { token_limit: 50 });
    stage.simulator.reset();
    stage.simulator.script({ stall: { at: "headers", forMs: 1_500 } });
    const [path, body] = [
      "/v1/audio/transcriptions",
      audioForm("openai/whisper-large-v3", [], 20_000),
    ];
    const request = withKey(key, { path, headers: FORM_TYPE, body });
    const first = callGateway(stage.gateway.port, request);
    await stage.simulator.awaitEntry(({ method }) => method === "POST");
    expect((await readLimitUse(stage.gateway, key, "tokens")).remaining).toBe(0);
    const second = await callGateway(stage.gateway.port, request);
    expectRefusal(second, "token_limit_exceeded");
    // The first one may not need them all.
    expect(second.header("x-should-retry")).toBeUndefined();
    expect((await first).status).toBe(200);
    const { used } = await settledUse(stage.gateway, key, "tokens");
    expect(used).toBeGreaterThan(0);
  });

  it("texts to embed hold a token for each byte, or all that is left", async () => {
    const key = await issueKey(stage.gateway, { token_limit: 10 });
    stage.simulator.reset();
    stage.simulator.script({ stall: { at: "headers" } });
    const body = { model: "sim-embed", input: "你好世界" };
    const request = withKey(key, { path: "/v1/embeddings", body });
    const first = await openCall(stage.gateway.port, request);
    await stage.simulator.awaitEntry(({ method }) => method === "POST");
    expect((await readLimitUse(stage.gateway, key, "tokens")).remaining).toBe(0);
    expectRefusal(await callGateway(stage.gateway.port, request), "token_limit_exceeded");
    first.reset();
    await settledUse(stage.gateway, key, "tokens");
    stage.simulator.reset();
    expect((await callGateway(stage.gateway.port, request)).status).toBe(200);
  });

  it("the list of models is not limited, and tokens are not counted for a key that may make no calls", async () => {
    const key = await issueKey(stage.gateway, {
      rpm_limit: 0,
      request_limit: 0,
      token_limit: 0,
      monthly_token_limit: 0,
    });
    const models = withKey(key, { method: "GET", path: "/v1/models" });
    expect((await callGateway(stage.gateway.port, models)).status).toBe(200);
    const counting = withKey(key, { path: "/v1/messages/count_tokens", body: chatBody("plain") });
    expect((await callGateway(stage.gateway.port, counting)).status).toBe(429);
  });

  it("our own refusals have no rows", async () => {
    const rows = await stage.finish();
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ status }) => status === 429)).toEqual([]);
  });
});
