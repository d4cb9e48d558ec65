import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { eventValues, pathDifference } from "../../support/faults/key-paths.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const KEY = "real-key-0123456789";

let simulator: TestSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "compatible", apiKey: KEY });
  client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const user = { role: "user" as const, content: "Say: Hi there" };
const asks = { role: "user" as const, content: "the weather in Oslo" };
const tool = {
  type: "function" as const,
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

function post(body: object) {
  const headers = { authorization: `Bearer ${KEY}` };
  return postJson(`${simulator.url}/v1/chat/completions`, { messages: [user], ...body }, headers);
}

interface Chunk {
  readonly choices: readonly {
    readonly delta: Readonly<Record<string, unknown>>;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: Readonly<Record<string, unknown>> | null;
  readonly [field: string]: unknown;
}

async function stream(body: object): Promise<Chunk[]> {
  return eventValues((await post({ ...body, stream: true })).text) as Chunk[];
}

describe("the simulator as a compatible cloud", () => {
  it.each([
    "mistral-large",
    "grok-4",
    "deepseek-chat",
    "llama-3.3-70b-versatile",
    "openrouter/auto",
    "command-a",
  ])("%s says the same whole and streamed, as OpenAI's SDK reads it", async (model) => {
    const whole = await client.chat.completions.create({ model, messages: [user] });
    expect(whole.choices[0]?.message.content).toBe("Hi there");
    const parts = await client.chat.completions.create({ model, messages: [user], stream: true });
    let text = "";
    let finish: string | null | undefined;
    for await (const { choices } of parts) {
      text += choices[0]?.delta.content ?? "";
      finish = choices[0]?.finish_reason ?? finish;
    }
    expect([text, finish]).toEqual(["Hi there", "stop"]);
  });

  it.each([
    "mistral-large",
    "magistral",
    "grok-4",
    "deepseek-reasoner",
    "qwen/qwen3-32b",
    "openrouter/auto",
    "command-a",
  ])("%s calls a tool and goes on with its result", async (model) => {
    const request = { model, messages: [asks], tools: [tool] };
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ function: { arguments: '{"city":"Oslo"}' } }] },
    });
    const { message } = choices[0] ?? {};
    const [call] = message?.tool_calls ?? [];
    const kept = ["role", "content", "tool_calls", "reasoning_content", "reasoning"];
    const said = Object.entries(message ?? {}).filter(([name]) => kept.includes(name));
    const { status, text } = await post({
      ...request,
      messages: [
        asks,
        Object.fromEntries(said),
        { role: "tool", tool_call_id: call?.id, content: "Rain" },
      ],
    });
    expect([status, text.includes("The tool answered: “Rain”")]).toEqual([200, true]);
  });

  it("Mistral puts thoughts into the content, and a call into the chunk that ends", async () => {
    const thought = await stream({ model: "magistral" });
    expect(thought[1]?.choices[0]?.delta["content"]).toEqual([
      { type: "thinking", thinking: [{ type: "text", text: "The" }] },
    ]);
    expect(thought.at(-2)?.choices[0]?.delta["content"]).toEqual([
      { type: "text", text: " there" },
    ]);
    const called = await stream({ model: "mistral-large", messages: [asks], tools: [tool] });
    expect(called).toHaveLength(2);
    expect(called[1]).toMatchObject({
      choices: [
        {
          delta: { tool_calls: [{ id: expect.stringMatching(/^[a-zA-Z0-9]{9}$/) }] },
          finish_reason: "tool_calls",
        },
      ],
      usage: { completion_tokens: expect.any(Number) },
    });
  });

  it("xAI counts reasoning beside the completion; only the total holds both", async () => {
    const chunks = await stream({ model: "grok-4" });
    expect(chunks[1]?.choices[0]).toEqual({ index: 0, delta: { reasoning_content: "The" } });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        completion_tokens: 2,
        total_tokens: expect.any(Number),
        completion_tokens_details: { reasoning_tokens: 28 },
      },
    });
    const { prompt_tokens: prompt, total_tokens: total } = chunks.at(-1)?.usage ?? {};
    expect(total).toBe(Number(prompt) + 2 + 28);
  });

  it("DeepSeek tells what the cache had, on the chunk that ends", async () => {
    const usage = { inputTokens: 900, outputTokens: 70, cachedTokens: 800 };
    simulator.script({ usage });
    const chunks = await stream({ model: "deepseek-chat" });
    expect(chunks.at(-1)).toMatchObject({
      choices: [{ finish_reason: "stop" }],
      usage: { prompt_cache_hit_tokens: 800, prompt_cache_miss_tokens: 100 },
    });
  });

  it("Groq tells its figures in x_groq as well", async () => {
    const last = (await stream({ model: "llama-3.3-70b-versatile" })).at(-1);
    expect(last).toMatchObject({ x_groq: { usage: last?.usage } });
  });

  it("OpenRouter comments while it works, and tells its figures beside a choice", async () => {
    const { text } = await post({ model: "openrouter/auto", stream: true });
    expect(text).toContain(": OPENROUTER PROCESSING\n\n");
    const last = (eventValues(text) as Chunk[]).at(-1);
    expect(last).toMatchObject({ choices: [{ finish_reason: null }], usage: {} });
  });

  it("Cohere opens a call with arguments that are null", async () => {
    const chunks = await stream({ model: "command-a", messages: [asks], tools: [tool] });
    expect(JSON.stringify(chunks[1])).toContain('"arguments":null');
  });

  it("each fails in its own words, before the stream and in it", async () => {
    for (const [model, status, words] of [
      ["mistral-large", 503, '"type":"unreachable_backend"'],
      ["grok-4", 503, '"error":"Service temporarily unavailable."'],
      ["openrouter/auto", 502, '"error":{"message":"Provider returned error","code":502}'],
    ] as const) {
      simulator.script({ error: { at: 0 } }, { error: { at: 1 } });
      const whole = await post({ model });
      expect([whole.status, whole.text]).toEqual([status, expect.stringContaining(words)]);
      expect((await post({ model, stream: true })).text).toContain(words);
    }
  });
});

describe("what the simulator refuses as compatible clouds do", () => {
  const call = (id: string) => ({
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name: "get_weather", arguments: "{}" } }],
  });
  const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "Rain" });

  it.each([
    ["stream_options", { stream_options: { include_usage: true } }],
    ["max_completion_tokens", { max_completion_tokens: 9 }],
    ["top_k", { top_k: 9 }],
    ["seed", { seed: 9 }],
    ["user", { user: "x" }],
    ["logprobs", { logprobs: true }],
  ])("Mistral: the field %s", async (name, changes) => {
    expect(await post({ model: "mistral-large", ...changes })).toMatchObject({
      status: 422,
      body: {
        object: "error",
        message: { detail: [{ type: "extra_forbidden", loc: ["body", name] }] },
      },
    });
  });

  it.each([
    ["two answers", 422, { n: 2 }, "less_than_equal"],
    ["a temperature over 1.5", 422, { temperature: 1.8 }, "less_than_equal"],
    [
      "the role developer",
      422,
      { messages: [{ role: "developer", content: "x" }, user] },
      "union_tag_invalid",
    ],
    [
      "a field of reasoning",
      422,
      { messages: [user, { role: "assistant", content: "x", reasoning_content: "y" }, user] },
      "extra_forbidden",
    ],
    [
      "a tool without parameters",
      422,
      { tools: [{ type: "function", function: { name: "f" } }] },
      '"type":"missing"',
    ],
    [
      "a choice of a tool that is not there",
      422,
      { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } },
      '"loc":["body","tool_choice"]',
    ],
    ["no message", 400, { messages: [] }, "Conversation must have at least one message"],
    [
      "an id that is not nine long",
      400,
      { messages: [asks, call("call_1"), result("call_1")] },
      "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    ],
    [
      "an assistant who says nothing",
      400,
      { messages: [user, { role: "assistant", content: "" }, user] },
      "Assistant message must have either content or tool_calls, but not none.",
    ],
    [
      "a user after a result",
      400,
      { messages: [asks, call("abcdefgh1"), result("abcdefgh1"), user] },
      "Unexpected role 'user' after role 'tool'",
    ],
    [
      "a call that nobody answers",
      400,
      { messages: [asks, call("abcdefgh1"), user] },
      "Not the same number of function calls and responses",
    ],
    [
      "a result that nobody asked for",
      400,
      { messages: [asks, result("abcdefgh1")] },
      "Unexpected role 'tool' after role 'user'",
    ],
    [
      "an end by the assistant",
      400,
      { messages: [user, { role: "assistant", content: "x" }] },
      "Expected last role User or Tool",
    ],
    ["an unknown model", 400, { model: "other" }, "Invalid model: other"],
  ])("Mistral: %s", async (_, status, changes, words) => {
    const reply = await post({ model: "mistral-large", ...changes });
    expect([reply.status, reply.text]).toEqual([status, expect.stringContaining(words)]);
  });

  it.each([
    [
      "xAI: a penalty",
      "grok-4",
      { presence_penalty: 1 },
      '"error":"Argument not supported on this model: presencePenalty"',
    ],
    ["xAI: stop", "grok-4", { stop: ["x"] }, '"code":"Client specified an invalid argument"'],
    [
      "xAI: a result that nobody asked for",
      "grok-4",
      { messages: [user, result("a")] },
      "must be a response to a preceding message",
    ],
    [
      "DeepSeek: a call that nobody answers",
      "deepseek-chat",
      { messages: [user, call("a"), user] },
      "insufficient tool messages following tool_calls message: a",
    ],
    [
      "DeepSeek: a call without its reasoning",
      "deepseek-reasoner",
      { messages: [user, call("a"), result("a")] },
      "Missing `reasoning_content` field in the assistant message at message index 1.",
    ],
    ["Groq: top_k", "llama-3.3-70b-versatile", { top_k: 9 }, "property 'top_k' is unsupported"],
    [
      "Groq: reasoning_content",
      "llama-3.3-70b-versatile",
      { messages: [user, { role: "assistant", content: "x", reasoning_content: "y" }, user] },
      "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]",
    ],
  ])("%s", async (_, model, changes, words) => {
    const reply = await post({ model, ...changes });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(words)]);
  });

  it("no key, a wrong one, another media type, no JSON, another address", async () => {
    const url = `${simulator.url}/v1/chat/completions`;
    const body = { model: "mistral-large", messages: [user] };
    const headers = { authorization: `Bearer ${KEY}` };
    const none = await postJson(url, body);
    expect([none.status, none.body]).toEqual([401, { detail: "Unauthorized" }]);
    expect((await postJson(url, body, { authorization: "Bearer other" })).status).toBe(401);
    const plain = { ...headers, "content-type": "text/plain" };
    expect((await postJson(url, body, plain)).status).toBe(422);
    expect((await postJson(url, "{", headers)).text).toContain("json_invalid");
    expect((await postJson(`${simulator.url}/v1/responses`, body, headers)).status).toBe(404);
  });

  it("more than the context holds, in each vendor's words", async () => {
    const models = ["mistral-large", "grok-4", "deepseek-chat", "llama-3", "openrouter/auto"].map(
      (name) => ({ name, contextLength: 20, capabilities: ["completion" as const] }),
    );
    const small = await startSimulator({ engine: "compatible", models });
    const url = `${small.url}/v1/chat/completions`;
    const messages = [{ role: "user", content: "word ".repeat(40) }];
    for (const [index, words] of [
      "too large for model with 20 maximum context length",
      "This model's maximum prompt length is 20 but the request contains",
      "This model's maximum context length is 20 tokens.",
      "context_length_exceeded",
      "This endpoint's maximum context length is 20 tokens.",
    ].entries()) {
      const body = { model: models[index]?.name, messages };
      const reply = await postJson(url, body, { authorization: "Bearer x" });
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(words)]);
    }
    await small.stop();
  });
});

describe("the simulator beside what compatible clouds were recorded to say", () => {
  const calling = { messages: [asks], tools: [tool] };
  const cached = ["usage.prompt_tokens_details", "usage.prompt_tokens_details.cached_tokens"];
  it.each([
    ["mistral", "mistral-text", { model: "mistral-large" }, cached],
    ["mistral", "mistral-reasoning", { model: "magistral" }, cached],
    ["mistral", "mistral-tool-call", { model: "mistral-large", ...calling }, cached],
    ["xai", "xai-text", { model: "grok-4" }, []],
    ["deepseek", "deepseek-tool-call", { model: "deepseek-reasoner", ...calling }, []],
    ["compatible", "groq-tool-call", { model: "llama-3.3-70b-versatile", ...calling }, []],
  ])("%s: %s", async (vendor, name, body, onlyOurs) => {
    const fixtures = readSharedFixtures([vendor], ".sse").filter((fixture) =>
      fixture.name.includes(name),
    );
    for (const { bytes } of fixtures) {
      const theirs = eventValues(Buffer.from(bytes).toString());
      const difference = pathDifference(await stream(body), theirs);
      expect(difference).toEqual({ onlyOurs, onlyTheirs: [] });
    }
  });
});
