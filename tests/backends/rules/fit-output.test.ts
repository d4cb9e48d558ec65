import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Backend, Model } from "../../../src/backends/backend.ts";
import { estimateInputTokens } from "../../../src/backends/rules/estimate-input-tokens.ts";
import { fitOutput } from "../../../src/backends/rules/fit-output.ts";
import { createOllama } from "../../../src/backends/vendors/ollama.ts";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import type { ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { chatRequest, collect, MODEL, never, serviceErrorOf, upstreamAt } from "../support.ts";

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const DEFAULT_MAX_OUTPUT_TOKENS = 8_192;

function saying(text: string, maxOutputTokens?: number): ChatRequest {
  const request = chatRequest({
    messages: [{ role: "user", content: [{ type: "text", text }] }],
  });
  return { ...request, parameters: maxOutputTokens === undefined ? {} : { maxOutputTokens } };
}

async function fitTo(request: ChatRequest, backend: Backend, model: Model) {
  return fitOutput(
    request,
    { backend, model },
    { defaultMaxOutputTokens: DEFAULT_MAX_OUTPUT_TOKENS, signal: never() },
  );
}

function paths(): string[] {
  return simulator.ledger().map(({ path }) => path);
}

describe("max_tokens is adjusted to fit the context", () => {
  it("sends the default limit when the client names none, without asking the engine", async () => {
    const fitted = await fitTo(saying("hello"), createVllm(upstreamAt(simulator.url)), MODEL);
    expect(fitted.request.parameters.maxOutputTokens).toBe(DEFAULT_MAX_OUTPUT_TOKENS);
    expect(paths()).toEqual([]);
  });

  it("takes the default for a default: a larger limit is sent as it is where it fits", async () => {
    const backend = createVllm(upstreamAt(simulator.url));
    const fitted = await fitTo(saying("hello", 20_000), backend, MODEL);
    expect(fitted.request.parameters.maxOutputTokens).toBe(20_000);
    expect(paths()).toEqual([]);
  });

  it("cuts to the model's longest answer, also the default", async () => {
    const backend = createVllm(upstreamAt(simulator.url));
    const model = { ...MODEL, maxOutputTokens: 4_096 };
    for (const asked of [200_000, 4_097, undefined]) {
      const fitted = await fitTo(saying("hello", asked), backend, model);
      expect(fitted.request.parameters.maxOutputTokens).toBe(4_096);
    }
    const fitted = await fitTo(saying("hello", 100), backend, model);
    expect(fitted.request.parameters.maxOutputTokens).toBe(100);
  });

  it.each(["vllm", "ollama"])(
    "answers a max_tokens of 200,000 on 8,192 of context (%s)",
    async (name) => {
      const upstream = upstreamAt(simulator.url);
      const backend = name === "vllm" ? createVllm(upstream) : createOllama(upstream, 8_192);
      const model = { ...MODEL, id: "sim-small", contextLength: 8_192 };
      const { request } = await fitTo(saying("hello", 200_000), backend, model);
      const { maxOutputTokens = 0 } = request.parameters;
      expect(maxOutputTokens).toBeLessThan(8_192);
      expect(maxOutputTokens).toBeGreaterThan(8_000);
      const events = await collect(backend.chat(request, model, { signal: never() }));
      expect(events.at(-1)).toMatchObject({ type: "finish" });
    },
  );

  it("counts a close prompt by the engine's tokenizer and cuts to what fits", async () => {
    const backend = createVllm(upstreamAt(simulator.url));
    const fitted = await fitTo(saying("hello ".repeat(100), 128_000), backend, MODEL);
    expect(paths()).toEqual(["/tokenize"]);
    const { maxOutputTokens = 0 } = fitted.request.parameters;
    expect(maxOutputTokens).toBeLessThanOrEqual(32_768 - fitted.inputTokens);
    expect(maxOutputTokens).toBeGreaterThan(32_768 - fitted.inputTokens - 64);
    const events = await collect(backend.chat(fitted.request, MODEL, { signal: never() }));
    expect(events.at(-1)).toMatchObject({ type: "finish" });
  });

  it("counts tools as part of the prompt", async () => {
    const tools = [{ name: "look", description: "word ".repeat(2_000) }];
    const backend = createVllm(upstreamAt(simulator.url));
    const bare = await fitTo(saying("hello", 128_000), backend, MODEL);
    const withTools = await fitTo({ ...saying("hello", 128_000), tools }, backend, MODEL);
    expect(withTools.inputTokens).toBeGreaterThan(bare.inputTokens + 1_000);
  });

  it("refuses a prompt that alone is too long, in the words that clients look for", async () => {
    const model = { ...MODEL, id: "sim-small", contextLength: 8_192 };
    const backend = createVllm(upstreamAt(simulator.url));
    const error = await serviceErrorOf(fitTo(saying("word ".repeat(9_000)), backend, model));
    expect([error.status, error.code]).toEqual([400, "context_length_exceeded"]);
    expect(error.message).toMatch(
      /^This model's maximum context length is 8192 tokens\. However, your messages resulted in \d+ tokens\.$/,
    );
  });

  it("leaves at least one token to a prompt that just fits", async () => {
    const backend = createVllm(upstreamAt(simulator.url));
    const { inputTokens } = await fitTo(saying("word ".repeat(1_000), 128_000), backend, MODEL);
    const model = { ...MODEL, contextLength: inputTokens + 1 };
    const fitted = await fitTo(saying("word ".repeat(1_000), 128_000), backend, model);
    expect(fitted.request.parameters.maxOutputTokens).toBe(1);
    const full = { ...MODEL, contextLength: inputTokens };
    const error = await serviceErrorOf(fitTo(saying("word ".repeat(1_000)), backend, full));
    expect(error.code).toBe("context_length_exceeded");
  });

  it("cuts by the estimate where there is no tokenizer to ask", async () => {
    const backend = createOllama(upstreamAt(simulator.url), 32_768);
    const fitted = await fitTo(saying("hello ".repeat(1_000), 128_000), backend, MODEL);
    const { maxOutputTokens = 0 } = fitted.request.parameters;
    expect(maxOutputTokens).toBeLessThanOrEqual(32_768 - 1_000);
    expect(maxOutputTokens).toBeGreaterThan(32_768 / 2);
    expect(paths()).toEqual([]);
  });

  it("leaves the judgement to the engine where the estimate alone says no", async () => {
    const model = { ...MODEL, contextLength: 1_000 };
    const backend = createVllm(upstreamAt(simulator.url));
    simulator.script({ match: { path: "/tokenize" }, respond: { status: 404 } });
    const fitted = await fitTo(saying("word ".repeat(700)), backend, model);
    expect(fitted.request.parameters.maxOutputTokens).toBeGreaterThan(1);
  });
});

describe("an engine that finds the context too small", () => {
  it("is asked once more with what its own numbers leave room for", async () => {
    const backend = createVllm(upstreamAt(simulator.url));
    simulator.script({
      respond: {
        status: 400,
        body: {
          error: {
            message:
              "You passed 24000 input tokens and requested 9000 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 23768 tokens. Please reduce the length of the input prompt.",
            code: 400,
          },
        },
      },
    });
    const request = chatRequest({}, { maxOutputTokens: 9_000 });
    const events = await collect(backend.chat(request, MODEL, { signal: never() }));
    expect(events.at(-1)).toMatchObject({ type: "finish" });
    const [, second] = simulator.ledger();
    expect(JSON.parse(second?.body ?? "").max_tokens).toBe(32_768 - 24_000 - 16);
  });

  it.each(["vllm", "ollama"])(
    "is believed when the prompt alone is too long (%s)",
    async (name) => {
      const isVllm = name === "vllm";
      const upstream = upstreamAt(simulator.url);
      const backend = isVllm ? createVllm(upstream) : createOllama(upstream, 32_768);
      const message = isVllm
        ? "You passed 40000 input tokens and requested 64 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32704 tokens. Please reduce the length of the input prompt."
        : "request (40000 tokens) exceeds the available context size (32768 tokens), try increasing it";
      simulator.script({
        times: "always",
        respond: { status: 400, body: { error: isVllm ? { message } : message } },
      });
      const error = await serviceErrorOf(backend.chat(chatRequest(), MODEL, { signal: never() }));
      expect(error.code).toBe("context_length_exceeded");
      expect(error.message).toBe(
        "This model's maximum context length is 32768 tokens. However, your messages resulted in 40000 tokens.",
      );
      expect(simulator.ledger()).toHaveLength(1);
    },
  );

  it.each([
    ["vllm", "max_tokens=99999 cannot be greater than max_model_len=32768"],
    ["ollama", "input length exceeds the context length"],
  ])("is not asked for ever (%s)", async (name, message) => {
    const upstream = upstreamAt(simulator.url);
    const isVllm = name === "vllm";
    const backend = isVllm ? createVllm(upstream) : createOllama(upstream, 32_768);
    simulator.script({
      times: "always",
      respond: { status: 400, body: { error: isVllm ? { message } : message } },
    });
    const request = chatRequest({}, { maxOutputTokens: 99_999 });
    const error = await serviceErrorOf(backend.chat(request, MODEL, { signal: never() }));
    expect(error.code).toBe("context_length_exceeded");
    expect(simulator.ledger().length).toBeLessThanOrEqual(2);
  });
});

describe("the estimate of a prompt", () => {
  it.each([
    ["English", "The quick brown fox jumps over the lazy dog. ".repeat(20), 20 * 10],
    ["Chinese", "敏捷的棕色狐狸跳过了懒狗。".repeat(20), 20 * 13],
    ["digits", "3141592653".repeat(20), 20 * 10 * (1 / 3)],
  ])("is rather too high than too low for %s", (_language, text, tokens) => {
    const estimate = estimateInputTokens(saying(text));
    expect(estimate).toBeGreaterThanOrEqual(tokens);
    expect(estimate).toBeLessThan(tokens * 3);
  });

  it("does not take the size of a picture's file for its tokens", () => {
    const image = {
      type: "image",
      source: { kind: "base64", mediaType: "image/png", data: "A".repeat(1_000_000) },
    } as const;
    const request = chatRequest({ messages: [{ role: "user", content: [image] }] });
    expect(estimateInputTokens(request)).toBeLessThan(5_000);
    expect(estimateInputTokens(request)).toBeGreaterThan(500);
  });

  it("counts calls, their results and thoughts of earlier turns", () => {
    const text = "x".repeat(3_000);
    const request = chatRequest({
      messages: [
        { role: "system", content: [{ type: "text", text }] },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text },
            { type: "tool-call", callId: "1", name: "look", arguments: text },
          ],
        },
        { role: "tool", callId: "1", content: [{ type: "text", text }] },
      ],
    });
    expect(estimateInputTokens(request)).toBeGreaterThanOrEqual(4_000);
  });
});
