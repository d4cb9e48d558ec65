import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";

let simulator: TestSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "vllm" });
  client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "none", maxRetries: 0 });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const hello = { model: "sim-chat", messages: [{ role: "user" as const, content: "Hello" }] };

function tool(name: string) {
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  return { type: "function" as const, function: { name, parameters } };
}

async function post(path: string, body: unknown, url = simulator.url) {
  const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("the simulator as vLLM, read by the official SDK", () => {
  it("lists models with the length of their context", async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual([
      "sim-chat",
      "sim-thinker",
      "sim-small",
      "sim-embed",
      "sim-embed-large",
    ]);
    expect(data[0]).toMatchObject({ owned_by: "vllm", max_model_len: 32_768 });
  });

  it("answers health with an empty body and tells its version", async () => {
    const health = await fetch(`${simulator.url}/health`);
    expect([health.status, await health.text()]).toEqual([200, ""]);
    expect(await (await fetch(`${simulator.url}/version`)).json()).toHaveProperty("version");
  });

  it("answers that it is the simulator and what the user asked", async () => {
    const { choices, usage } = await client.chat.completions.create(hello);
    expect(choices[0]?.message.content).toMatch(/engine simulator.*sim-chat.*“Hello”/);
    expect(choices[0]?.finish_reason).toBe("stop");
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
  });

  it("streams the same text that it answers whole, and counts it the same", async () => {
    const whole = await client.chat.completions.create(hello);
    const stream = await client.chat.completions.create({
      ...hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage: unknown;
    for await (const part of stream) {
      text += part.choices[0]?.delta.content ?? "";
      usage = part.usage ?? usage;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(usage).toEqual(whole.usage);
  });

  it("sends usage in a stream only when asked", async () => {
    const stream = await client.chat.completions.create({ ...hello, stream: true });
    for await (const part of stream) {
      expect(part.choices).toHaveLength(1);
      expect(part.usage).toBeUndefined();
    }
    expect(simulator.ledger()[0]?.told).toBeUndefined();
  });

  it("reasons when asked, in the field of its age", async () => {
    const thinking = { ...hello, chat_template_kwargs: { enable_thinking: true } };
    const { choices } = await client.chat.completions.create(thinking);
    expect(choices[0]?.message).toMatchObject({ reasoning: expect.stringContaining("Hello") });
    const unasked = await client.chat.completions.create(hello);
    expect(unasked.choices[0]?.message).toMatchObject({ reasoning: null });

    const old = await startSimulator({ legacy: true });
    const answer = await post("/v1/chat/completions", thinking, old.url);
    expect(JSON.stringify(answer.body)).toContain('"reasoning_content":"The user asks');
    await old.stop();
    const unparsed = await startSimulator({ reasoningParser: false });
    const tagged = await post("/v1/chat/completions", thinking, unparsed.url);
    expect(JSON.stringify(tagged.body)).toContain('"content":"<think>');
    await unparsed.stop();
  });

  it("calls every tool that the prompt names, in parallel, with arguments that follow the schema", async () => {
    const stream = client.chat.completions.stream({
      model: "sim-chat",
      messages: [{ role: "user", content: "Compare the weather and the time in Oslo" }],
      tools: [tool("get_weather"), tool("get_time"), tool("send_mail")],
    });
    const { choices } = await stream.finalChatCompletion();
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === "function" && call.function)).toMatchObject([
      { name: "get_weather", arguments: '{"city":"Oslo"}' },
      { name: "get_time", arguments: '{"city":"Oslo"}' },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("ends a named tool choice with stop, calls nothing on none, and answers a tool's result", async () => {
    const body = { ...hello, tools: [tool("get_weather")] };
    const named = await client.chat.completions.create({
      ...body,
      tool_choice: { type: "function", function: { name: "get_weather" } },
    });
    expect(named.choices[0]?.finish_reason).toBe("stop");
    expect(named.choices[0]?.message.tool_calls).toHaveLength(1);
    const none = await client.chat.completions.create({
      ...body,
      messages: [{ role: "user", content: "the weather" }],
      tool_choice: "none",
    });
    expect(none.choices[0]?.message.tool_calls).toEqual([]);
    const [call] = named.choices[0]?.message.tool_calls ?? [];
    const answered = await client.chat.completions.create({
      ...body,
      messages: [
        { role: "user", content: "the weather" },
        { role: "assistant", content: null, tool_calls: call ? [call] : [] },
        { role: "tool", tool_call_id: call?.id ?? "", content: "4 degrees" },
      ],
    });
    expect(answered.choices[0]?.message.content).toContain("4 degrees");
  });

  it("stops at a stop string, names it, and leaves it out", async () => {
    const { choices } = await client.chat.completions.create({
      model: "sim-chat",
      messages: [{ role: "user", content: "count to 9" }],
      stop: ["5", "7"],
    });
    expect(choices[0]).toMatchObject({ finish_reason: "stop", stop_reason: "5" });
    expect(choices[0]?.message.content).toBe("1, 2, 3, 4, ");
  });

  it("cuts at max_tokens exactly, with the reason length", async () => {
    for (const limit of [{ max_tokens: 3 }, { max_completion_tokens: 3 }]) {
      const { choices, usage } = await client.chat.completions.create({ ...hello, ...limit });
      expect(usage?.completion_tokens).toBe(3);
      expect(choices[0]).toMatchObject({
        finish_reason: "length",
        message: { content: "Hello! I" },
      });
    }
  });

  it("gives a log probability for every token and as many alternatives as asked", async () => {
    const { choices, usage } = await client.chat.completions.create({
      ...hello,
      logprobs: true,
      top_logprobs: 2,
    });
    const content = choices[0]?.logprobs?.content ?? [];
    expect(content.map(({ token }) => token).join("")).toBe(choices[0]?.message.content);
    expect(content).toHaveLength(usage?.completion_tokens ?? -1);
    expect(content[0]?.top_logprobs).toHaveLength(2);
  });

  it("counts images, and follows a JSON schema", async () => {
    const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    const seen = await client.chat.completions.create({
      model: "sim-chat",
      messages: [{ role: "user", content: [{ type: "text", text: "Look" }, image, image] }],
    });
    expect(seen.choices[0]?.message.content).toContain("2 images");
    const schema = {
      type: "object",
      properties: { name: { type: "string" }, size: { type: "integer", minimum: 3, maximum: 5 } },
      required: ["name", "size"],
    };
    const json = await client.chat.completions.create({
      ...hello,
      response_format: { type: "json_schema", json_schema: { name: "x", schema } },
    });
    const value = JSON.parse(json.choices[0]?.message.content ?? "") as { size: number };
    expect(value).toMatchObject({ name: "Hello" });
    expect([3, 4, 5]).toContain(value.size);
  });

  it("counts a prompt the same in /tokenize as in its usage", async () => {
    const body = { ...hello, tools: [tool("get_weather")] };
    const { usage } = await client.chat.completions.create(body);
    const counted = await post("/tokenize", body);
    expect(counted.body).toMatchObject({ count: usage?.prompt_tokens, max_model_len: 32_768 });
    expect(counted.body["tokens"]).toHaveLength(usage?.prompt_tokens ?? -1);
    expect((await post("/tokenize", { prompt: "one two three" })).body["count"]).toBe(3);
  });

  it("embeds as floats and as base64, of the dimensions asked for, alike texts near each other", async () => {
    const input = ["the red house", "a red house", "quantum physics"];
    const floats = await client.embeddings.create({
      model: "sim-embed",
      input,
      encoding_format: "float",
    });
    const base64 = await client.embeddings.create({ model: "sim-embed", input });
    const [red, house, physics] = floats.data.map(({ embedding }) => embedding);
    expect(red).toHaveLength(256);
    expect(Float32Array.from(base64.data[0]?.embedding ?? [])).toEqual(
      Float32Array.from(red ?? []),
    );
    const product = (one: number[] = [], other: number[] = []) =>
      one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
    expect(product(red, house)).toBeGreaterThan(product(red, physics) + 0.2);
    const small = await client.embeddings.create({
      model: "sim-embed",
      input: [1, 2],
      dimensions: 8,
    });
    expect(small.data[0]?.embedding).toHaveLength(8);
    expect(small.usage.prompt_tokens).toBe(2);
  });

  it("transcribes in the five formats", async () => {
    const file = () => new File([Buffer.alloc(64_044)], "speech.wav");
    const ask = (format: "json" | "text" | "srt" | "vtt" | "verbose_json") =>
      client.audio.transcriptions.create({
        model: "whisper",
        file: file(),
        response_format: format,
      });
    const heard = "The simulator heard speech.wav, 64044 bytes.";
    expect(await ask("json")).toEqual({ text: heard, usage: { type: "duration", seconds: 2 } });
    expect(await ask("text")).toBe(heard);
    expect(await ask("srt")).toBe(`1\n00:00:00,000 --> 00:00:02,000\n${heard}\n\n`);
    expect(await ask("vtt")).toMatch(/^WEBVTT\n\n00:00:00\.000 --> 00:00:02\.000\n/);
    expect(await ask("verbose_json")).toMatchObject({ duration: "2", segments: [{ text: heard }] });
    expect(simulator.ledger()[0]?.model).toBe("whisper");
  });
});

describe("the simulator's refusals as vLLM", () => {
  const refusals: [why: string, body: object, expected: object][] = [
    ["an unknown model", { ...hello, model: "nope" }, { code: 404, type: "NotFoundError" }],
    ["no messages", { model: "sim-chat", messages: [] }, { code: 400, param: "messages" }],
    ["a chat with an embedding model", { ...hello, model: "sim-embed" }, { code: 400 }],
    ["an empty tool list", { ...hello, tools: [] }, { param: "tools" }],
    [
      "tools on a model without them",
      { ...hello, model: "sim-small", tools: [tool("x")] },
      {
        message: expect.stringContaining("--enable-auto-tool-choice"),
      },
    ],
    ["a tool choice without tools", { ...hello, tool_choice: "auto" }, { code: 400 }],
    ["a temperature below zero", { ...hello, temperature: -1 }, { param: "temperature" }],
    [
      "more output than the context",
      { ...hello, max_tokens: 99_999 },
      {
        message: expect.stringContaining("max_tokens=99999cannot be greater than max_model_len="),
      },
    ],
    [
      "prompt and output over the context",
      { ...hello, max_tokens: 32_768 },
      {
        message: expect.stringMatching(
          /^You passed \d+ input tokens and requested 32768 output tokens\. However, the model's context length is only 32768 tokens/,
        ),
        param: "input_tokens",
        type: "BadRequestError",
      },
    ],
  ];
  it.each(refusals)("refuses %s with an integer code", async (_, body, expected) => {
    const refused = await post("/v1/chat/completions", body);
    expect(refused.body).toEqual({ error: expect.objectContaining(expected) });
    expect(refused.status).toBe((refused.body["error"] as { code: number }).code);
  });

  it("refuses as the older engine did", async () => {
    const old = await startSimulator({ legacy: true });
    const effort = await post(
      "/v1/chat/completions",
      { ...hello, reasoning_effort: "none" },
      old.url,
    );
    expect(effort.status).toBe(400);
    const long = await post("/v1/chat/completions", { ...hello, max_tokens: 32_768 }, old.url);
    expect(JSON.stringify(long.body)).toContain(
      "This model's maximum context length is 32768 tokens",
    );
    await old.stop();
  });

  it("asks for its key on /v1 only", async () => {
    const locked = await startSimulator({ apiKey: "secret" });
    expect((await fetch(`${locked.url}/v1/models`)).status).toBe(401);
    expect((await fetch(`${locked.url}/health`)).status).toBe(200);
    const headers = { authorization: "Bearer secret" };
    expect((await fetch(`${locked.url}/v1/models`, { headers })).status).toBe(200);
    await locked.stop();
  });

  it("knows no path of the other engine, and answers broken JSON with 400", async () => {
    expect((await fetch(`${simulator.url}/api/tags`)).status).toBe(404);
    const broken = await fetch(`${simulator.url}/v1/chat/completions`, {
      method: "POST",
      body: "{",
    });
    expect(broken.status).toBe(400);
  });
});
