import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Model } from "../../../src/backends/backend.ts";
import { createOllama } from "../../../src/backends/vendors/ollama.ts";
import { createVllm } from "../../../src/backends/vendors/vllm.ts";
import { chatCompletionsServer } from "../../../src/codecs/chat-completions/server.ts";
import { messagesServer } from "../../../src/codecs/messages/server.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import type { ChatRequest, UserPart } from "../../../src/core/chat/chat-request.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import {
  CLOSED_PORT,
  chatRequest,
  collect,
  MODEL,
  never,
  serviceErrorOf,
  upstreamAt,
} from "../support.ts";

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const nowhere = upstreamAt(`http://127.0.0.1:${CLOSED_PORT}`);

function bodiesTo(path: string): Record<string, unknown>[] {
  return simulator
    .ledger()
    .filter((entry) => entry.path === path)
    .map((entry) => JSON.parse(entry.body ?? "null"));
}

describe.each([
  { name: "vllm", path: "/v1/chat/completions", create: createVllm },
  {
    name: "ollama",
    path: "/api/chat",
    create: (upstream: ReturnType<typeof upstreamAt>) => createOllama(upstream, 32_768),
  },
])("System messages ($name)", ({ name, path, create }) => {
  const system = (text: string) => ({ role: "system", content: [{ type: "text", text }] }) as const;
  const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] }) as const;
  const sent = () =>
    bodiesTo(path).map(({ messages }) =>
      (messages as { role: string; content: string }[]).map((one) => [one.role, one.content]),
    );
  const refusal = "System message must be at the beginning.";

  it("at the beginning are one, because many templates drop or refuse further ones", async () => {
    const messages = [system("You are an agent."), system("Be brief."), user("Hello")];
    await collect(
      create(upstreamAt(simulator.url)).chat(chatRequest({ messages }), MODEL, { signal: never() }),
    );
    expect(sent()).toEqual([
      [
        ["system", "You are an agent.\n\nBe brief."],
        ["user", "Hello"],
      ],
    ]);
  });

  it.each([true, false])(
    "in the middle are told as user text to a template that refuses them (stream: %s)",
    async (stream) => {
      simulator.script({
        match: { path },
        respond:
          name === "vllm"
            ? { status: 400, body: { error: { message: refusal, code: 400 } } }
            : { status: 500, body: { error: refusal } },
      });
      const backend = create(upstreamAt(simulator.url));
      const messages = [system("a"), user("b"), system("c"), user("d")];
      for (let call = 0; call < 2; call++) {
        const request = chatRequest({ messages, stream });
        const events = await collect(backend.chat(request, MODEL, { signal: never() }));
        expect(events.at(-1)).toMatchObject({ type: "finish" });
      }
      const asGiven = [
        ["system", "a"],
        ["user", "b"],
        ["system", "c"],
        ["user", "d"],
      ];
      const told = asGiven.toSpliced(2, 1, ["user", "<system>\nc\n</system>"]);
      // The second call does not pay for it.
      expect(sent()).toEqual([asGiven, told, told]);
    },
  );
});

describe("The GPU-server engine", () => {
  const vllm = () => createVllm(upstreamAt(simulator.url));
  const respond = (path: string, status: number, body: unknown = "") =>
    simulator.script({ match: { path }, respond: { status, body } });

  it("drops tools when the engine was started without a parser for them", async () => {
    const request = chatRequest({ tools: [{ name: "look" }] });
    const model = { ...MODEL, id: "sim-small" };
    await collect(vllm().chat(request, model, { signal: never() }));
    const bodies = simulator
      .ledger()
      .filter(({ path }) => path === "/v1/chat/completions")
      .map(({ body }) => Object.keys(JSON.parse(body ?? "{}")));
    expect(bodies.map((names) => names.includes("tools"))).toEqual([true, false]);
  });

  it("lists its chat models with their context, embedding models left out", async () => {
    const models = await vllm().listModels(never());
    expect(models.map(({ id }) => id)).not.toContain("sim-embed");
    expect(models.find(({ id }) => id === "sim-small")).toMatchObject({
      backend: "vllm",
      contextLength: 8_192,
      tools: true,
    });
  });

  it.each([
    "BAAI/bge-m3",
    "intfloat/e5-large-v2",
    "Qwen/Qwen3-Embedding-8B",
    "whisper-1",
    "jina-reranker",
  ])("does not take %s for a chat model", async (id) => {
    respond("/v1/models", 200, { data: [{ id }, { id: "meta-llama/Llama-3.1-8B" }] });
    const models = await vllm().listModels(never());
    expect(models.map((model) => model.id)).toEqual(["meta-llama/Llama-3.1-8B"]);
  });

  it("lists models of servers that tell no more than a name", async () => {
    respond("/v1/models", 200, { object: "list", data: [{ id: "m", created: null }] });
    expect(await vllm().listModels(never())).toEqual([
      expect.objectContaining({ id: "m", created: 0, contextLength: undefined }),
    ]);
  });

  it.each([
    [200, "<html>"],
    [200, { models: [] }],
    [500, ""],
  ])("rejects a list that is none (%s %j)", async (status, body) => {
    respond("/v1/models", status, body);
    const error = await serviceErrorOf(vllm().listModels(never()));
    expect(error.code).toBe("upstream_error");
  });

  it("is reachable when /health says so, or the list where there is no /health", async () => {
    expect(await vllm().isReachable(never())).toBe(true);
    respond("/health", 503);
    expect(await vllm().isReachable(never())).toBe(false);
    respond("/health", 404);
    expect(await vllm().isReachable(never())).toBe(true);
    expect(await createVllm(nowhere).isReachable(never())).toBe(false);
  });

  it("has the same models at each reading, though their cards have the time of the request", async () => {
    for (const created of [1_763_600_000, 1_763_600_015]) {
      const card = { id: "m", object: "model", created, owned_by: "vllm" };
      simulator.script({
        match: { path: "/v1/models" },
        respond: { status: 200, body: { object: "list", data: [card] } },
      });
    }
    const backend = vllm();
    const first = await backend.listModels(never());
    expect(first).toMatchObject([{ id: "m", created: 1_763_600_000 }]);
    expect(await backend.listModels(never())).toEqual(first);
  });

  it("counts tokens of messages and tools by the engine's tokenizer", async () => {
    const tools = [{ name: "look", description: "looks" }];
    const count = await vllm().countTokens?.(chatRequest({ tools }), MODEL, { signal: never() });
    expect(count).toBeGreaterThan(1);
    expect(bodiesTo("/tokenize")[0]).toMatchObject({
      model: "sim-chat",
      messages: [{ role: "user", content: "hello" }],
      tools: [{ type: "function" }],
      add_generation_prompt: true,
    });
  });

  it("says nothing of tokens when it has no tokenizer", async () => {
    respond("/tokenize", 404);
    expect(await vllm().countTokens?.(chatRequest(), MODEL, { signal: never() })).toBeUndefined();
  });

  it("does without the effort when the model's tokenizer refuses it", async () => {
    const message = "chat_template is not supported for Mistral tokenizers.";
    respond("/v1/chat/completions", 400, { error: { message } });
    const backend = vllm();
    await collect(backend.chat(chatRequest({ effort: "none" }), MODEL, { signal: never() }));
    await collect(backend.chat(chatRequest({ effort: "high" }), MODEL, { signal: never() }));
    const [first, ...later] = bodiesTo("/v1/chat/completions");
    expect(first).toHaveProperty("chat_template_kwargs");
    expect(later).toHaveLength(2);
    for (const body of later) expect(body).not.toHaveProperty("chat_template_kwargs");
  });

  it("lets no client's faulty field take the effort from others", async () => {
    const error = { message: "chat_template_kwargs: Input should be a valid dictionary" };
    for (let tries = 0; tries < 2; tries++) respond("/v1/chat/completions", 400, { error });
    const backend = vllm();
    const faulty = chatRequest({}, { extra: { chat_template_kwargs: "no dictionary" } });
    const refusal = await serviceErrorOf(backend.chat(faulty, MODEL, { signal: never() }));
    expect(refusal.code).toBe("invalid_value");
    await collect(backend.chat(chatRequest({ effort: "none" }), MODEL, { signal: never() }));
    expect(bodiesTo("/v1/chat/completions").at(-1)).toMatchObject({
      chat_template_kwargs: { enable_thinking: false },
    });
  });
});

describe("A llama.cpp server in place of the GPU-server engine", () => {
  const small = {
    name: "small",
    contextLength: 512,
    capabilities: ["completion", "tools"],
  } as const;
  const long = "far too long a question, ".repeat(300);
  const message = (...content: UserPart[]) =>
    chatRequest({ messages: [{ role: "user", content }], stream: false });
  let llama: TestSimulator;
  let older: TestSimulator;
  let model: Model;
  beforeAll(async () => {
    llama = await startSimulator({ engine: "llama-cpp", models: [small] });
    older = await startSimulator({ engine: "llama-cpp", models: [small], legacy: true });
  });
  afterEach(() => llama.reset());
  afterAll(() => Promise.all([llama.stop(), older.stop()]));
  beforeEach(async () => {
    const [first] = await createVllm(upstreamAt(llama.url)).listModels(never());
    model = first ?? MODEL;
  });
  const refusalOf = (request: ChatRequest, server = llama) =>
    serviceErrorOf(createVllm(upstreamAt(server.url)).chat(request, model, { signal: never() }));

  it("tells the context it was started with, not the one its model was trained on", () => {
    expect(model).toMatchObject({ id: "small", contextLength: 512 });
  });

  it.each(["today's", "an older"])(
    "refuses a long prompt in every family's words (%s)",
    async (age) => {
      const server = age === "an older" ? older : llama;
      const error = await refusalOf(message({ type: "text", text: long }), server);
      expect([error.status, error.code]).toEqual([400, "context_length_exceeded"]);
      expect(error.overflow).toEqual({ contextLength: 512, promptTokens: expect.any(Number) });
      const tokens = error.overflow?.promptTokens;
      const words = `This model's maximum context length is 512 tokens. However, your messages resulted in ${tokens} tokens.`;
      for (const { encodeError } of [chatCompletionsServer, responsesServer]) {
        expect(encodeError(error, "req_1")).toMatchObject({
          error: { code: "context_length_exceeded", message: words },
        });
      }
      expect(messagesServer.encodeError(error, "req_1")).toMatchObject({
        error: { message: `prompt is too long: ${tokens} tokens > 512 maximum` },
      });
      expect(server.ledger().filter(({ path }) => path.endsWith("completions"))).toHaveLength(1);
    },
  );

  it("that runs out of context under several calls at once is not at fault itself", async () => {
    const body = {
      error: { code: 500, message: "Context size has been exceeded.", type: "server_error" },
    };
    llama.script({ times: "always", respond: { status: 500, body } });
    const error = await refusalOf(message({ type: "text", text: "hello" }));
    expect([error.status, error.code]).toEqual([400, "context_length_exceeded"]);
  });

  it("cuts an answer that grows over the context", async () => {
    const request = chatRequest({}, { maxOutputTokens: 5_000 });
    const backend = createVllm(upstreamAt(llama.url));
    const events = await collect(backend.chat(request, model, { signal: never() }));
    expect(events.at(-1)).toMatchObject({ type: "finish" });
  });

  it.each([true, false])(
    "tells in its own words, as the request's fault, that it takes no pictures (stream: %s)",
    async (stream) => {
      const source = { kind: "base64", mediaType: "image/png", data: "AAAA" } as const;
      const error = await refusalOf({ ...message({ type: "image", source }), stream });
      expect([error.status, error.code]).toEqual([400, "invalid_value"]);
      expect(error.message).toMatch(/^image input is not supported - hint: .* the mmproj$/);
    },
  );

  it("tells what went wrong when it fails itself, and is to be asked again while it loads", async () => {
    const failure = (code: number, words: string) =>
      llama.script({ respond: { status: code, body: { error: { code, message: words } } } });
    failure(500, "the GPU at http://10.0.0.7:9000 is gone");
    const gone = await refusalOf(message({ type: "text", text: "hello" }));
    expect([gone.status, gone.code]).toEqual([502, "upstream_error"]);
    expect(gone.message).toMatch(/^The model server failed with status 500. It says: the GPU at /);
    expect(gone.message).not.toContain("10.0.0.7");
    failure(503, "Loading model");
    const loading = await refusalOf(message({ type: "text", text: "hello" }));
    expect([loading.status, loading.retryAfterSeconds]).toEqual([503, 5]);
    expect(loading.message).toBe("The model server is overloaded. It says: Loading model");
  });
});

describe("The single-machine engine", () => {
  const ollama = (contextLength = 32_768) => createOllama(upstreamAt(simulator.url), contextLength);
  const thinkRefusal = { error: '"sim-small" does not support thinking' };

  it("lists its chat models with what they can do, embedding models left out", async () => {
    const models = await ollama().listModels(never());
    expect(models.map(({ id }) => id)).toEqual([
      "sim-chat:latest",
      "sim-thinker:latest",
      "sim-small:latest",
    ]);
    expect(models[0]).toMatchObject({ tools: true, vision: true, thinking: true });
    expect(models[2]).toMatchObject({ tools: false, vision: false, thinking: false });
    expect(models[0]?.created).toBeGreaterThan(1_700_000_000);
  });

  it("has the context of the model, at most LLM_CONTEXT_LENGTH", async () => {
    const models = await ollama(16_000).listModels(never());
    expect(models.map(({ contextLength }) => contextLength)).toEqual([16_000, 16_000, 8_192]);
  });

  it("asks what a model can do once for each version of it", async () => {
    const backend = ollama();
    await backend.listModels(never());
    const asked = bodiesTo("/api/show").length;
    await backend.listModels(never());
    expect(bodiesTo("/api/show")).toHaveLength(asked);
  });

  it("lists models of old engines that tell no capabilities", async () => {
    const models = [{ name: "old:7b", digest: "1" }, { name: "nomic-embed-text:latest" }];
    simulator.script(
      { match: { path: "/api/tags" }, respond: { status: 200, body: { models } } },
      {
        match: { path: "/api/show", body: "old:7b" },
        respond: {
          status: 200,
          body: { template: "{{ .Prompt }}", model_info: { "llama.context_length": 4_096 } },
        },
      },
    );
    expect(await ollama().listModels(never())).toEqual([
      expect.objectContaining({ id: "old:7b", tools: false, contextLength: 4_096 }),
    ]);
  });

  it("is reachable when it tells its version", async () => {
    expect(await ollama().isReachable(never())).toBe(true);
    expect(await createOllama(nowhere, 1).isReachable(never())).toBe(false);
  });

  it("is asked for the model's context, always the same", async () => {
    const [model = MODEL] = await ollama(16_000).listModels(never());
    for (const maxOutputTokens of [10, 500]) {
      const request = chatRequest({}, { maxOutputTokens });
      await collect(ollama().chat(request, model, { signal: never() }));
    }
    expect(bodiesTo("/api/chat").map(({ options }) => options)).toMatchObject([
      { num_ctx: 16_000, num_predict: 10 },
      { num_ctx: 16_000, num_predict: 500 },
    ]);
  });

  it.each([true, false])(
    "4.4 retries a model without thinking without the setting (stream: %s)",
    async (stream) => {
      const model = { ...MODEL, id: "sim-small" };
      const request = chatRequest({ stream, effort: "high" });
      const events = await collect(ollama().chat(request, model, { signal: never() }));
      expect(events.at(-1)).toMatchObject({ type: "finish" });
      const [first, second] = bodiesTo("/api/chat");
      expect(first).toHaveProperty("think", true);
      expect(second).not.toHaveProperty("think");
    },
  );

  it("retries each of many first calls at once", async () => {
    const backend = ollama();
    const model = { ...MODEL, id: "sim-small" };
    const calls = Array.from({ length: 10 }, () =>
      collect(backend.chat(chatRequest({ effort: "high" }), model, { signal: never() })),
    );
    for (const events of await Promise.all(calls)) {
      expect(events.at(-1)).toMatchObject({ type: "finish" });
    }
  });

  it("remembers it, so that the next call does not pay, until the models change", async () => {
    const backend = ollama();
    const model = { ...MODEL, id: "sim-small" };
    const call = () =>
      collect(backend.chat(chatRequest({ effort: "high" }), model, { signal: never() }));
    await backend.listModels(never());
    await call();
    await call();
    await backend.listModels(never());
    await call();
    expect(bodiesTo("/api/chat").filter((body) => "think" in body)).toHaveLength(1);
    simulator.script({
      match: { path: "/api/tags" },
      respond: { status: 200, body: { models: [] } },
    });
    await backend.listModels(never());
    await call();
    expect(bodiesTo("/api/chat").filter((body) => "think" in body)).toHaveLength(2);
  });

  it("keeps the setting for the models that can think", async () => {
    const backend = ollama();
    const chat = (id: string) =>
      collect(backend.chat(chatRequest({ effort: "high" }), { ...MODEL, id }, { signal: never() }));
    await chat("sim-small");
    await chat("sim-thinker");
    expect(bodiesTo("/api/chat").at(-1)).toHaveProperty("think", true);
  });

  it("keeps the setting for others when one client sends a level that the model refuses", async () => {
    const error = 'think value "low" is not supported for this model';
    simulator.script({
      match: { path: "/api/chat" },
      respond: { status: 400, body: { error } },
    });
    const backend = ollama();
    const chat = (request: ChatRequest) =>
      collect(backend.chat(request, { ...MODEL, id: "sim-thinker" }, { signal: never() }));
    await chat(chatRequest({ parameters: { extra: { think: "low" } } }));
    await chat(chatRequest({ effort: "none" }));
    const sent = bodiesTo("/api/chat").map((body) => body["think"]);
    expect(sent).toEqual(["low", undefined, false]);
  });

  it("gives up when the refusal does not end", async () => {
    simulator.script({ times: "always", respond: { status: 400, body: thinkRefusal } });
    const request = chatRequest({ effort: "high" });
    const error = await serviceErrorOf(ollama().chat(request, MODEL, { signal: never() }));
    expect(error).toMatchObject({ status: 400, code: "invalid_value" });
    expect(bodiesTo("/api/chat")).toHaveLength(2);
  });

  it("drops tools when the model turns out to have none", async () => {
    const request = chatRequest({ tools: [{ name: "look" }] });
    const model = { ...MODEL, id: "sim-small", tools: true };
    await collect(ollama().chat(request, model, { signal: never() }));
    const [first, second] = bodiesTo("/api/chat");
    expect(first).toHaveProperty("tools");
    expect(second).not.toHaveProperty("tools");
  });
});
