import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startSimulator({ engine: "ollama" });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

interface ChatLine {
  readonly message: {
    readonly content: string;
    readonly thinking?: string;
    readonly tool_calls?: readonly { id?: string; function: { name: string; arguments: object } }[];
  };
  readonly done: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: number;
  readonly eval_count?: number;
}

async function post(path: string, body: unknown, url = simulator.url) {
  const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, type: response.headers.get("content-type"), text };
}

async function chat(body: object, url = simulator.url): Promise<ChatLine[]> {
  const { text } = await post("/api/chat", { model: "sim-chat", messages: hello, ...body }, url);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ChatLine);
}

const hello = [{ role: "user", content: "Hello" }];
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

describe("the simulator as Ollama", () => {
  it("says that it runs, its version and its models", async () => {
    const root = await fetch(simulator.url);
    expect([root.status, await root.text()]).toEqual([200, "Ollama is running"]);
    expect((await fetch(simulator.url, { method: "HEAD" })).status).toBe(200);
    const ask = async (path: string): Promise<unknown> =>
      (await fetch(simulator.url + path)).json();
    expect(await ask("/api/version")).toHaveProperty("version");
    expect(await ask("/api/tags")).toMatchObject({
      models: [
        { name: "sim-chat:latest", capabilities: ["completion", "tools", "vision", "thinking"] },
        { name: "sim-thinker:latest" },
        { name: "sim-small:latest", details: { parameter_size: "1.2B" } },
        { name: "sim-embed:latest", capabilities: ["embedding"] },
        { name: "sim-embed-large:latest", capabilities: ["embedding"] },
      ],
    });
    expect(await ask("/api/ps")).toMatchObject({
      models: [{ context_length: 32_768 }, {}, {}, {}, {}],
    });
  });

  it("shows a model's capabilities and context, by its name with or without a tag", async () => {
    for (const model of ["sim-small", "sim-small:latest"]) {
      const { text } = await post("/api/show", { model });
      expect(JSON.parse(text)).toMatchObject({
        capabilities: ["completion"],
        model_info: { "general.architecture": "sim", "sim.context_length": 8_192 },
      });
    }
    expect((await post("/api/show", { model: "nope" })).status).toBe(404);
  });

  it("leaves capabilities out of the tags and ids out of the calls when it is old", async () => {
    const old = await startSimulator({ legacy: true });
    expect(await (await fetch(`${old.url}/api/tags`)).text()).not.toContain("capabilities");
    const lines = await chat(
      { messages: [{ role: "user", content: "weather" }], tools: [weather] },
      old.url,
    );
    const calls = lines.flatMap(({ message }) => message.tool_calls ?? []);
    expect(calls).toHaveLength(1);
    expect(calls[0]).not.toHaveProperty("id");
    await old.stop();
  });

  it("streams lines of JSON by default, the last with reason and counters", async () => {
    const lines = await chat({});
    const { type } = await post("/api/chat", { model: "sim-chat", messages: hello });
    expect(type).toBe("application/x-ndjson");
    const last = lines.at(-1);
    expect(lines.filter(({ done }) => done)).toHaveLength(1);
    expect(last).toMatchObject({ done: true, done_reason: "stop", message: { content: "" } });
    expect(last?.eval_count).toBe(lines.length - 1);
    expect(last?.prompt_eval_count).toBeGreaterThan(0);
    const [whole] = await chat({ stream: false });
    expect(whole?.message.content).toBe(lines.map(({ message }) => message.content).join(""));
    expect(whole).toMatchObject({ done: true, eval_count: last?.eval_count });
  });

  it("thinks when asked, before the content, and by default only where the model does", async () => {
    const lines = await chat({ think: "high" });
    const kinds = lines
      .slice(0, -1)
      .map(({ message }) => (message.thinking ? "thinking" : "content"));
    expect(kinds.lastIndexOf("thinking")).toBe(kinds.indexOf("content") - 1);
    expect((await chat({ stream: false }))[0]?.message).not.toHaveProperty("thinking");
    const byDefault = await chat({ model: "sim-thinker", stream: false });
    expect(byDefault[0]?.message.thinking).toContain("Hello");
    const off = await chat({ model: "sim-thinker", stream: false, think: false });
    expect(off[0]?.message).not.toHaveProperty("thinking");
  });

  it("gives tool calls whole, their arguments as objects, and ends with stop", async () => {
    const messages = [{ role: "user", content: "What is the weather in Oslo and Paris?" }];
    const lines = await chat({ messages, tools: [weather] });
    const calls = lines.flatMap(({ message }) => message.tool_calls ?? []);
    expect(calls.map((call) => call.function)).toMatchObject([
      { name: "get_weather", arguments: { city: "Oslo" } },
      { name: "get_weather", arguments: { city: "Paris" } },
    ]);
    expect(lines.at(-1)?.done_reason).toBe("stop");
    const replay = [
      ...messages,
      { role: "assistant", content: "", tool_calls: calls },
      { role: "tool", tool_name: "get_weather", content: "4 degrees" },
    ];
    const [answer] = await chat({ messages: replay, tools: [weather], stream: false });
    expect(answer?.message.content).toContain("4 degrees");
  });

  it("honours num_predict, stop and a format", async () => {
    const [cut] = await chat({ stream: false, options: { num_predict: 3 } });
    expect(cut).toMatchObject({ done_reason: "length", eval_count: 3 });
    const counting = [{ role: "user", content: "count to 9" }];
    const [stopped] = await chat({ messages: counting, stream: false, options: { stop: ["5"] } });
    expect(stopped).toMatchObject({ done_reason: "stop", message: { content: "1, 2, 3, 4, " } });
    const format = { type: "object", properties: { on: { type: "boolean" } } };
    const [json] = await chat({ stream: false, format });
    expect(JSON.parse(json?.message.content ?? "")).toEqual({ on: expect.any(Boolean) });
  });

  it("drops the oldest messages silently when the context is short, unless it must not", async () => {
    const turn = (word: string) => ({ role: "user", content: `${word} `.repeat(300) });
    const messages = [{ role: "system", content: "Be kind" }, turn("old"), turn("new")];
    const options = { num_ctx: 400 };
    const [cut] = await chat({ messages, options, stream: false });
    expect(cut?.prompt_eval_count).toBeLessThanOrEqual(400);
    expect(cut?.prompt_eval_count).toBeGreaterThan(300);
    const [whole] = await chat({ messages, options: { num_ctx: 4096 }, stream: false });
    expect(whole?.prompt_eval_count).toBeGreaterThan(600);
    const refused = await post("/api/chat", {
      model: "sim-chat",
      messages,
      options,
      truncate: false,
    });
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining("context length") });
  });

  it("loads and unloads a model without messages", async () => {
    expect(await chat({ messages: [] })).toMatchObject([{ done: true, done_reason: "load" }]);
    const unloaded = await chat({ messages: [], keep_alive: 0 });
    expect(unloaded).toMatchObject([{ done: true, done_reason: "unload" }]);
  });

  it("embeds one text or several, of the dimensions asked for", async () => {
    const { text } = await post("/api/embed", {
      model: "sim-embed",
      input: ["one", "two"],
      dimensions: 8,
    });
    const answer = JSON.parse(text) as { embeddings: number[][]; prompt_eval_count: number };
    expect(answer.embeddings.map(({ length }) => length)).toEqual([8, 8]);
    expect(answer.prompt_eval_count).toBe(2);
  });

  const refusals: [why: string, body: object, status: number, error: string][] = [
    [
      "thinking on a model without it",
      { model: "sim-small", think: true },
      400,
      '"sim-small" does not support thinking',
    ],
    [
      "tools on a model without them",
      { model: "sim-small", tools: [weather] },
      400,
      "registry.ollama.ai/library/sim-small:latest does not support tools",
    ],
    [
      "chat with an embedding model",
      { model: "sim-embed" },
      400,
      '"sim-embed" does not support chat',
    ],
    ["an unknown model", { model: "nope" }, 404, 'model "nope" not found, try pulling it first'],
    ["an unknown think value", { think: "much" }, 400, "invalid think value"],
    [
      "content that is a list",
      { messages: [{ role: "user", content: [] }] },
      400,
      "cannot unmarshal array",
    ],
    [
      "arguments that are text",
      {
        messages: [
          {
            role: "assistant",
            content: "",
            tool_calls: [{ function: { name: "x", arguments: "{}" } }],
          },
        ],
      },
      400,
      "cannot unmarshal string",
    ],
    ["stop that is text", { options: { stop: "x" } }, 400, 'option "stop" must be of type array'],
    [
      "an image that is no base64",
      { messages: [{ role: "user", content: "", images: ["data:image/png;base64,AA"] }] },
      400,
      "illegal base64",
    ],
  ];
  it.each(refusals)("refuses %s in Ollama's words", async (_, body, status, error) => {
    const refused = await post("/api/chat", { model: "sim-chat", messages: hello, ...body });
    expect(refused.status).toBe(status);
    expect(JSON.parse(refused.text)).toEqual({ error: expect.stringContaining(error) });
  });

  it("never refuses think: false", async () => {
    expect(
      (await post("/api/chat", { model: "sim-small", messages: hello, think: false })).status,
    ).toBe(200);
  });
});
