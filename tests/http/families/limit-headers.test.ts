import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LimitStatus } from "../../../src/core/limit-status.ts";
import { messagesLimitHeaders } from "../../../src/http/families/headers/messages-limit-headers.ts";
import { openaiLimitHeaders } from "../../../src/http/families/headers/openai-limit-headers.ts";
import { issueKey, type LimitFields } from "../../support/clients/issue-key.ts";
import { startGateway, TEST_KEY, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

const NOW = Date.UTC(2026, 10, 21, 17, 0, 0);

describe("What is left of limits, in OpenAI's words,", () => {
  it.each([
    [0, "0s"],
    [-5_000, "0s"],
    [1, "1s"],
    [59_001, "1m0s"],
    [360_000, "6m0s"],
    [3_599_000, "59m59s"],
    [3_600_000, "1h0m0s"],
    [10 * 86_400_000 - 1, "240h0m0s"],
  ])("is there again after %i milliseconds, which is %s", (milliseconds, text) => {
    const meter = { limit: 60, remaining: 59, resetsAt: NOW + milliseconds };
    expect(openaiLimitHeaders({ requests: meter }, NOW)).toEqual({
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-reset-requests": text,
    });
  });

  it("has no time where nothing comes back, and no header without a limit", () => {
    const tokens = { limit: 10, remaining: 0, resetsAt: null };
    expect(openaiLimitHeaders({ tokens }, NOW)).toEqual({
      "x-ratelimit-limit-tokens": "10",
      "x-ratelimit-remaining-tokens": "0",
    });
    expect(openaiLimitHeaders({}, NOW)).toEqual({});
  });
});

describe("What is left of limits, in the words of the messages family,", () => {
  it("is there again at a time of whole seconds, rather too late", () => {
    const status: LimitStatus = {
      requests: { limit: 60, remaining: 3, resetsAt: NOW + 1 },
      tokens: { limit: 10, remaining: 0, resetsAt: null },
    };
    expect(messagesLimitHeaders(status, NOW)).toEqual({
      "anthropic-ratelimit-requests-limit": "60",
      "anthropic-ratelimit-requests-remaining": "3",
      "anthropic-ratelimit-requests-reset": "2026-11-21T17:00:01Z",
      "anthropic-ratelimit-tokens-limit": "10",
      "anthropic-ratelimit-tokens-remaining": "0",
    });
    expect(messagesLimitHeaders({}, NOW)).toEqual({});
  });
});

describe("The official clients are told what is left of a key's limits", () => {
  const LIMITS = { rpm_limit: 2, monthly_token_limit: 50_000 } satisfies LimitFields;
  let simulator: TestSimulator;
  let gateway: TestGateway;
  beforeAll(async () => {
    simulator = await startSimulator({ engine: "vllm" });
    gateway = await startGateway({ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url });
  });
  afterEach(() => simulator.reset());
  afterAll(async () => {
    await gateway?.stop();
    await simulator?.stop();
  });

  async function clients(limits: LimitFields = LIMITS) {
    const { key: apiKey } = await issueKey(gateway, limits);
    return {
      openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }),
      anthropic: new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 }),
    };
  }

  /** The headers that speak of limits. */
  function told(headers: Headers | undefined): Readonly<Record<string, string>> {
    return Object.fromEntries([...(headers ?? [])].filter(([name]) => /ratelimit/.test(name)));
  }

  function expectOpenai(headers: Headers | undefined, remaining: number): void {
    expect(told(headers)).toEqual({
      "x-ratelimit-limit-requests": "2",
      "x-ratelimit-remaining-requests": String(remaining),
      "x-ratelimit-reset-requests": expect.stringMatching(/^(\d|[1-5]\d)s$|^1m0s$/),
      "x-ratelimit-limit-tokens": "50000",
      "x-ratelimit-remaining-tokens": expect.stringMatching(/^[1-4]\d{4}$/),
      "x-ratelimit-reset-tokens": expect.stringMatching(/^(\d+h)?(\d+m)?\d+s$/),
    });
  }

  function expectMessages(headers: Headers | undefined, remaining: number): void {
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(told(headers)).toEqual({
      "anthropic-ratelimit-requests-limit": "2",
      "anthropic-ratelimit-requests-remaining": String(remaining),
      "anthropic-ratelimit-requests-reset": time,
      "anthropic-ratelimit-tokens-limit": "50000",
      "anthropic-ratelimit-tokens-remaining": expect.stringMatching(/^[1-4]\d{4}$/),
      "anthropic-ratelimit-tokens-reset": time,
    });
  }

  const chat = {
    model: "sim-chat",
    max_tokens: 8,
    messages: [{ role: "user" as const, content: "hello" }],
  };

  it("by chat: whole, streamed and refused", async () => {
    const { openai } = await clients();
    const whole = await openai.chat.completions.create(chat).withResponse();
    expectOpenai(whole.response.headers, 1);
    const stream = await openai.chat.completions.create({ ...chat, stream: true }).withResponse();
    expectOpenai(stream.response.headers, 0);
    for await (const _chunk of stream.data) {
      // The stream is read to its end.
    }
    const refused = openai.chat.completions.create(chat);
    const error = await refused.catch((thrown: unknown) => thrown);
    if (!(error instanceof OpenAI.RateLimitError)) throw error;
    expect(error.code).toBe("rate_limit_exceeded");
    expectOpenai(error.headers, 0);
  });

  it("by messages: whole, streamed and refused", async () => {
    const { anthropic } = await clients();
    const whole = await anthropic.messages.create(chat).withResponse();
    expectMessages(whole.response.headers, 1);
    const stream = await anthropic.messages.create({ ...chat, stream: true }).withResponse();
    expectMessages(stream.response.headers, 0);
    for await (const _event of stream.data) {
      // The stream is read to its end.
    }
    const error = await anthropic.messages.create(chat).catch((thrown: unknown) => thrown);
    if (!(error instanceof Anthropic.RateLimitError)) throw error;
    expectMessages(error.headers, 0);
  });

  it("by responses, embeddings and transcriptions", async () => {
    const responses = await (await clients()).openai.responses
      .create({ model: "sim-chat", input: "hello", max_output_tokens: 16 })
      .withResponse();
    expectOpenai(responses.response.headers, 1);

    const { openai } = await clients();
    const embedding = await openai.embeddings
      .create({ model: "sim-embed", input: "hello" })
      .withResponse();
    expectOpenai(embedding.response.headers, 1);
    const file = await toFile(Buffer.alloc(4_000, 7), "speech.wav");
    const model = "openai/whisper-large-v3";
    const audio = await openai.audio.transcriptions.create({ file, model }).withResponse();
    expectOpenai(audio.response.headers, 0);
    const error = await openai.audio.transcriptions
      .create({ file, model })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof OpenAI.RateLimitError)) throw error;
    expectOpenai(error.headers, 0);
  });

  it("only of the limits that it has", async () => {
    const { openai } = await clients({ request_limit: 5 });
    const { response } = await openai.chat.completions.create(chat).withResponse();
    expect(told(response.headers)).toEqual({
      "x-ratelimit-limit-requests": "5",
      "x-ratelimit-remaining-requests": "4",
    });
    const unlimited = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: TEST_KEY });
    const plain = await unlimited.chat.completions.create(chat).withResponse();
    expect(told(plain.response.headers)).toEqual({});
  });

  it("without sleeping for what no wait brings back", async () => {
    const { key: apiKey } = await issueKey(gateway, { monthly_token_limit: 0 });
    const patient = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 5 });
    await expect(patient.chat.completions.create(chat)).rejects.toMatchObject({
      status: 429,
      code: "monthly_limit_exceeded",
    });
    const anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 5 });
    await expect(anthropic.messages.create(chat)).rejects.toMatchObject({ status: 429 });
  });
});
