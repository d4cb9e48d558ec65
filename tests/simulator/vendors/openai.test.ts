import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { eventValues, pathDifference } from "../../support/faults/key-paths.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const KEY = "sk-real-key-0123456789";
const CHAT = "/v1/chat/completions";
const RESPONSES = "/v1/responses";

let simulator: TestSimulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "openai", apiKey: KEY });
  client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: KEY, maxRetries: 0 });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const user = { role: "user" as const, content: "Say: Hi there" };
const weather = {
  name: "get_weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};
const chatTool = { type: "function" as const, function: weather };
const flatTool = { type: "function" as const, strict: false, ...weather };
const asksTwo = "Compare the weather of Oslo and Paris";

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  return postJson(simulator.url + path, body, { authorization: `Bearer ${KEY}`, ...headers });
}

describe("the simulator as OpenAI's chat completions, read by the official SDK", () => {
  it("says the same whole and streamed, with usage where it was asked for", async () => {
    const whole = await client.chat.completions.create({ model: "gpt-4.1", messages: [user] });
    expect(whole.choices[0]).toMatchObject({
      finish_reason: "stop",
      message: { role: "assistant", content: "Hi there", refusal: null },
    });
    const stream = client.chat.completions.stream({
      model: "gpt-4.1",
      messages: [user],
      stream_options: { include_usage: true },
    });
    const streamed = await stream.finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe("Hi there");
    expect(streamed.usage).toEqual(whole.usage);
    expect(simulator.ledger().map(({ told }) => told)).toMatchObject([
      { inputTokens: whole.usage?.prompt_tokens },
      { outputTokens: whole.usage?.completion_tokens },
    ]);
  });

  it("thinks without a word of it, and counts it: a small limit leaves nothing to say", async () => {
    const body = { model: "gpt-5", messages: [user] };
    const { choices, usage } = await client.chat.completions.create(body);
    expect(Object.keys(choices[0]?.message ?? {})).not.toContain("reasoning_content");
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(10);
    const cut = await client.chat.completions.create({ ...body, max_completion_tokens: 5 });
    expect(cut.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "" } });
  });

  it("calls tools in parallel, in pieces that come in turn when scripted", async () => {
    const request = {
      model: "gpt-4.1",
      messages: [{ role: "user" as const, content: asksTwo }],
      tools: [chatTool],
    };
    const own = await client.chat.completions.stream(request).finalChatCompletion();
    expect(own.choices[0]?.message.tool_calls).toMatchObject([
      { id: expect.stringMatching(/^call_\w{24}$/), function: { arguments: '{"city":"Oslo"}' } },
      { function: { arguments: '{"city":"Paris"}' } },
    ]);
    simulator.script({
      toolCalls: [
        { name: "get_weather", arguments: '{"city":"Rome"}' },
        { name: "get_weather", arguments: '{"city":"Bonn"}' },
      ],
      argumentCharacters: 4,
      interleaveToolCalls: true,
    });
    const scripted = await client.chat.completions.stream(request).finalChatCompletion();
    const calls = scripted.choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => "function" in call && call.function.arguments)).toEqual([
      '{"city":"Rome"}',
      '{"city":"Bonn"}',
    ]);
    expect(scripted.choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("tells log probabilities, refuses in words, and stops for the filter", async () => {
    const request = { model: "gpt-4.1", messages: [user] };
    const { choices } = await client.chat.completions.create({
      ...request,
      logprobs: true,
      top_logprobs: 2,
    });
    expect(choices[0]?.logprobs?.content?.[0]?.top_logprobs).toHaveLength(2);
    simulator.script({ refusal: "I cannot help with that." }, { text: "Half", blocked: "answer" });
    const refused = await client.chat.completions.stream(request).finalChatCompletion();
    expect(refused.choices[0]?.message.refusal).toBe("I cannot help with that.");
    const filtered = await client.chat.completions.create(request);
    expect(filtered.choices[0]).toMatchObject({
      finish_reason: "content_filter",
      message: { content: "Half" },
    });
    simulator.script({ blocked: "prompt" });
    await expect(client.chat.completions.create(request)).rejects.toMatchObject({
      status: 400,
      code: "invalid_prompt",
    });
  });

  it("fails before the stream, in its first event, and later, as the SDK understands it", async () => {
    const request = { model: "gpt-4.1", messages: [user] };
    simulator.script({ error: { at: 0 } });
    await expect(client.chat.completions.create(request)).rejects.toMatchObject({ status: 500 });
    simulator.script({ error: { at: 0 } }, { error: { at: 2 } });
    for (const _ of [0, 2]) {
      const stream = client.chat.completions.stream(request);
      await expect(stream.finalChatCompletion()).rejects.toThrow(/server had an error/);
    }
  });

  it("tells the figures it is given, or none at all", async () => {
    const request = { model: "gpt-4.1", messages: [user] };
    const usage = {
      inputTokens: 900,
      outputTokens: 70,
      cachedTokens: 800,
      cacheWriteTokens: 50,
      reasoningTokens: 60,
    };
    simulator.script({ usage }, { usage: null });
    const told = await client.chat.completions.create(request);
    expect(told.usage).toMatchObject({
      prompt_tokens: 900,
      total_tokens: 970,
      prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 50 },
      completion_tokens_details: { reasoning_tokens: 60 },
    });
    expect((await client.chat.completions.create(request)).usage).toBeUndefined();
  });

  it("lists its models and shows one", async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toContain("gpt-5.6");
    expect(await client.models.retrieve("gpt-4.1")).toMatchObject({ id: "gpt-4.1" });
    await expect(client.models.retrieve("gpt-9")).rejects.toMatchObject({
      code: "model_not_found",
    });
  });
});

describe("the simulator as OpenAI's responses, read by the official SDK", () => {
  it("says the same whole and streamed, in numbered events that begin and end as they must", async () => {
    const request = {
      model: "gpt-5",
      input: "Say: Hi there",
      reasoning: { summary: "auto" as const },
      include: ["reasoning.encrypted_content" as const],
      store: false,
    };
    const whole = await client.responses.create(request);
    expect(whole.output_text).toBe("Hi there");
    expect(whole.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
    const stream = client.responses.stream(request);
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
    }
    const streamed = await stream.finalResponse();
    expect(streamed.output_text).toBe("Hi there");
    expect(streamed.usage).toEqual(whole.usage);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  it("goes on with its own sealed reasoning and call, and with the output of the call", async () => {
    const first = await client.responses.create({
      model: "gpt-5",
      input: [{ role: "user", content: "the weather in Oslo" }],
      tools: [flatTool],
      include: ["reasoning.encrypted_content"],
      store: false,
    });
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "get_weather", arguments: '{"city":"Oslo"}' });
    const second = await client.responses.create({
      model: "gpt-5",
      input: [
        { role: "user", content: "the weather in Oslo" },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: "function_call_output", call_id: call?.call_id ?? "", output: "Rain" },
      ],
      tools: [flatTool],
      store: false,
    });
    expect(second.output_text).toContain("The tool answered: “Rain”");
  });

  it("says calls of custom tools and of namespaces in their own form", async () => {
    const { output } = await client.responses.create({
      model: "gpt-5",
      input: "use write_sql and close_issue",
      tools: [
        { type: "custom", name: "write_sql" },
        {
          type: "namespace",
          name: "tracker",
          description: "",
          tools: [{ type: "function", name: "close_issue" }],
        },
      ] as OpenAI.Responses.Tool[],
    });
    expect(output.slice(1)).toMatchObject([
      { type: "custom_tool_call", name: "write_sql", input: expect.stringContaining("write_sql") },
      { type: "function_call", name: "close_issue", namespace: "tracker" },
    ]);
  });

  it("sends calls in turn when scripted, and ends incomplete where the limit falls", async () => {
    simulator.script({
      toolCalls: [
        { name: "get_weather", arguments: '{"city":"Rome"}' },
        { name: "get_weather", arguments: '{"city":"Bonn"}' },
      ],
      argumentCharacters: 5,
      interleaveToolCalls: true,
    });
    const stream = client.responses.stream({ model: "gpt-4.1", input: "x", tools: [flatTool] });
    const { output } = await stream.finalResponse();
    expect(output.map((item) => item.type === "function_call" && item.arguments)).toEqual([
      '{"city":"Rome"}',
      '{"city":"Bonn"}',
    ]);
    const cut = await client.responses.create({
      model: "gpt-4.1",
      input: "count to 100",
      max_output_tokens: 16,
    });
    expect(cut).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete" }],
    });
  });

  it("refuses as a part, stops for the filter, and fails with an event and a failed response", async () => {
    const request = { model: "gpt-4.1", input: "x" };
    simulator.script({ refusal: "No." }, { text: "Half", blocked: "answer" }, { error: { at: 4 } });
    const refused = await client.responses.stream(request).finalResponse();
    expect(refused.output).toMatchObject([{ content: [{ type: "refusal", refusal: "No." }] }]);
    const filtered = await client.responses.create(request);
    expect(filtered.incomplete_details).toEqual({ reason: "content_filter" });
    const { text } = await post(RESPONSES, { ...request, stream: true });
    const [error, failed] = eventValues(text).slice(-2);
    expect(error).toMatchObject({ type: "error", error: { type: "server_error", param: null } });
    expect(failed).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error" } },
    });
  });

  it("counts the tokens of an input", async () => {
    const request = { model: "gpt-4.1", input: "Say: Hi there" };
    const counted = await post(`${RESPONSES}/input_tokens`, request);
    const { usage } = await client.responses.create(request);
    expect(counted.body).toEqual({
      object: "response.input_tokens",
      input_tokens: usage?.input_tokens,
    });
  });
});

describe("the simulator beside what OpenAI was recorded to say", () => {
  const recorded = (name: string) =>
    readSharedFixtures(["openai-chat", "openai-responses"], ".sse").filter((fixture) =>
      fixture.name.includes(name),
    );

  it("chat chunks have the recorded keys", async () => {
    for (const [part, content] of [
      ["sync_streams_real_model/00", "the weather in Oslo"],
      ["sync_streams_real_model/01", "Say: Hi there"],
    ] as const) {
      for (const { bytes } of recorded(part)) {
        const { text } = await post(CHAT, {
          model: "gpt-4.1",
          messages: [{ role: "user", content }],
          tools: [chatTool],
          stream: true,
          stream_options: { include_usage: true },
        });
        const theirs = eventValues(Buffer.from(bytes).toString());
        expect(pathDifference(eventValues(text), theirs)).toEqual({
          onlyOurs: ["usage.prompt_tokens_details.cache_write_tokens"],
          onlyTheirs: [],
        });
      }
    }
  });

  it("events of a response have the recorded keys", async () => {
    for (const { bytes } of recorded("background_mode_streaming")) {
      const { text } = await post(RESPONSES, { model: "gpt-4.1", input: "x", stream: true });
      const theirs = eventValues(Buffer.from(bytes).toString());
      expect(pathDifference(eventValues(text), theirs)).toEqual({
        onlyOurs: ["obfuscation", "response.usage.input_tokens_details.cache_write_tokens"],
        onlyTheirs: [],
      });
    }
  });

  it("reasoning and calls in a response have the recorded keys", async () => {
    for (const { bytes } of recorded("reasoning-encrypted-content")) {
      const { text } = await post(RESPONSES, {
        model: "gpt-5",
        input: "the weather in Oslo",
        tools: [flatTool],
        stream: true,
        reasoning: { summary: "auto" },
        include: ["reasoning.encrypted_content"],
      });
      const [first = ""] = Buffer.from(bytes)
        .toString()
        .split(/(?<=response\.completed.*\n\n)/);
      const { onlyOurs, onlyTheirs } = pathDifference(eventValues(text), eventValues(first));
      expect(onlyTheirs.filter((path) => !path.includes("parameters"))).toEqual([]);
      expect(onlyOurs.filter((path) => !path.includes("parameters"))).toEqual([
        "response.completed_at",
        "response.frequency_penalty",
        "response.presence_penalty",
        "response.usage.input_tokens_details.cache_write_tokens",
      ]);
    }
  });
});
