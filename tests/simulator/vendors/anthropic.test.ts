import Anthropic from "@anthropic-ai/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../../support/clients/post-json.ts";
import { eventValues, pathDifference } from "../../support/faults/key-paths.ts";
import { startSimulator, type TestSimulator } from "../../support/servers/start-simulator.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const KEY = "sk-ant-real-key-0123456789";

let simulator: TestSimulator;
let client: Anthropic;

beforeAll(async () => {
  simulator = await startSimulator({ engine: "anthropic", apiKey: KEY });
  client = new Anthropic({
    baseURL: simulator.url,
    apiKey: KEY,
    maxRetries: 0,
    defaultHeaders: { "x-api-key": KEY },
  });
});
afterEach(() => simulator.reset());
afterAll(() => simulator.stop());

const user = { role: "user" as const, content: "Say: Hi there" };
const request = { model: "claude-opus-4-6", max_tokens: 4_096, messages: [user] };
const weather = {
  name: "get_weather",
  description: "Weather of a city",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
};

async function stream(body: unknown): Promise<string> {
  const { text } = await postJson(
    `${simulator.url}/v1/messages`,
    { ...(body as object), stream: true },
    { "x-api-key": KEY, "anthropic-version": "2023-06-01" },
  );
  return text;
}

describe("the simulator as Anthropic, read by the official SDK", () => {
  it("says the same whole and streamed, and counts it the same", async () => {
    const whole = await client.messages.create(request);
    expect(whole).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Hi there" }],
      stop_reason: "end_turn",
      stop_sequence: null,
    });
    const streamed = await client.messages.stream(request).finalMessage();
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.usage).toEqual(whole.usage);
    const { input_tokens } = await client.messages.countTokens({
      model: request.model,
      messages: [user],
    });
    expect(input_tokens).toBe(whole.usage.input_tokens);
  });

  it("thinks with a seal, and goes on with what it sealed and the result of its call", async () => {
    const thinking = { type: "enabled" as const, budget_tokens: 1_024 };
    const ask = { role: "user" as const, content: "the weather in Oslo" };
    const body = { ...request, messages: [ask], tools: [weather], thinking };
    const first = await client.messages.stream(body).finalMessage();
    expect(first.content).toMatchObject([
      {
        type: "thinking",
        thinking: expect.stringContaining("Oslo"),
        signature: expect.any(String),
      },
      { type: "tool_use", id: expect.stringMatching(/^toolu_01\w{22}$/), input: { city: "Oslo" } },
    ]);
    expect(first.stop_reason).toBe("tool_use");
    const call = first.content.find((block) => block.type === "tool_use");
    const second = await client.messages.create({
      ...body,
      messages: [
        ask,
        { role: "assistant", content: first.content },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "Rain" }],
        },
      ],
    });
    expect(second.content.at(-1)).toMatchObject({ text: expect.stringContaining("“Rain”") });
  });

  it("thinks adaptively, leaves the text of it out on request, and takes the bare seal back", async () => {
    const body = {
      ...request,
      model: "claude-opus-4-6",
      thinking: { type: "adaptive" as const, display: "omitted" as const },
    };
    const { content } = await client.messages.stream(body).finalMessage();
    expect(content[0]).toMatchObject({ type: "thinking", thinking: "" });
    const messages = [user, { role: "assistant" as const, content }, user];
    expect((await client.messages.create({ ...body, messages })).stop_reason).toBe("end_turn");
  });

  it("thinks by default from Sonnet 5 on", async () => {
    const { content } = await client.messages.create({ ...request, model: "claude-sonnet-5" });
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const { content: earlier } = await client.messages.create(request);
    expect(earlier.map(({ type }) => type)).toEqual(["text"]);
  });

  it("says redacted thinking whole in the start of its block", async () => {
    simulator.script({ reasoning: "secret", redactedReasoning: true, text: "Done", times: 2 });
    const { content } = await client.messages.stream(request).finalMessage();
    expect(content).toMatchObject([
      { type: "redacted_thinking", data: expect.any(String) },
      { type: "text", text: "Done" },
    ]);
    expect(await stream(request)).not.toContain("secret");
    const messages = [user, { role: "assistant" as const, content }, user];
    expect((await client.messages.create({ ...request, messages })).stop_reason).toBe("end_turn");
  });

  it("keeps the order of events, with pings anywhere between them", async () => {
    const text = await stream({ ...request, messages: [{ ...user, content: "count to 30" }] });
    const types = [...text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
    expect(types.filter((type) => type === "ping").length).toBeGreaterThan(5);
    const rest = types.filter((type) => type !== "ping");
    expect(rest.filter((type, index) => type !== rest[index - 1])).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  it("sends arguments in pieces, the first one empty, and none for a call without any", async () => {
    simulator.script({
      toolCalls: [
        { name: "get_weather", arguments: '{"city":"Rome"}' },
        { name: "refresh", arguments: "{}" },
      ],
      argumentCharacters: 6,
    });
    const events = eventValues(await stream(request)) as { delta?: { partial_json?: string } }[];
    const pieces = events.map(({ delta }) => delta?.partial_json).filter((p) => p !== undefined);
    expect(pieces).toEqual(["", '{"city', '":"Rom', 'e"}', ""]);
  });

  it("tells why it stopped: a stop sequence, the limit, a refusal", async () => {
    const stopped = await client.messages.create({
      ...request,
      messages: [{ ...user, content: "count to 9" }],
      stop_sequences: ["4"],
    });
    expect(stopped).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "4" });
    const cut = await client.messages.create({ ...request, max_tokens: 1 });
    expect(cut.stop_reason).toBe("max_tokens");
    simulator.script({ refusal: "Not this." }, { blocked: "prompt" }, { text: "" });
    const refused = await client.messages.stream(request).finalMessage();
    expect(refused).toMatchObject({
      stop_reason: "refusal",
      stop_details: { type: "refusal", explanation: "Not this." },
    });
    expect(await client.messages.create(request)).toMatchObject({
      content: [],
      stop_reason: "refusal",
    });
    expect(await client.messages.create(request)).toMatchObject({
      content: [],
      stop_reason: "end_turn",
    });
  });

  it("tells input without what the cache gave or took, and nothing when told to", async () => {
    const usage = { inputTokens: 900, outputTokens: 70, cachedTokens: 800, cacheWriteTokens: 50 };
    simulator.script({ usage, times: 2 }, { usage: null });
    const { usage: told } = await client.messages.create(request);
    expect(told).toMatchObject({
      input_tokens: 50,
      cache_read_input_tokens: 800,
      cache_creation_input_tokens: 50,
      output_tokens: 70,
    });
    expect((await client.messages.stream(request).finalMessage()).usage).toEqual(told);
    expect(await stream(request)).not.toContain('"usage"');
  });

  it("fails before the stream, in its first event, and later", async () => {
    simulator.script({ error: { at: 0 } });
    await expect(client.messages.create(request)).rejects.toMatchObject({ status: 529 });
    simulator.script({ error: { at: 0 } }, { error: { at: 4 } });
    for (const _ of [0, 4]) {
      await expect(client.messages.stream(request).finalMessage()).rejects.toThrow(/Overloaded/);
    }
  });

  it("lists its models in pages and shows one", async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list({ limit: 3 })) ids.push(id);
    expect(ids).toHaveLength(10);
    expect(await client.models.retrieve("claude-opus-5-5")).toMatchObject({ max_tokens: 128_000 });
  });

  it("takes system messages between the others from 4.8 on", async () => {
    const messages = [user, { role: "system" as const, content: "Be brief." }];
    const answer = await client.messages.create({
      ...request,
      model: "claude-opus-4-8",
      messages: messages as Anthropic.MessageParam[],
    });
    expect(answer.content).toMatchObject([{ text: "Hi there" }]);
  });
});

describe("the simulator beside what Anthropic was recorded to say", () => {
  const recorded = (name: string) =>
    readSharedFixtures(["anthropic"], ".sse").filter((fixture) => fixture.name.includes(name));
  const newer = ["delta.stop_details", "message.stop_details"];
  const figures = ["usage.output_tokens_details", "usage.output_tokens_details.thinking_tokens"];
  const grown = [...newer, ...figures, ...figures.map((path) => `message.${path}`)].sort();

  it.each([
    ["anthropic-text", request],
    ["thinking_part_stream", { ...request, thinking: { type: "enabled", budget_tokens: 1_024 } }],
  ])("its events have the keys of %s", async (name, body) => {
    for (const { bytes } of recorded(name)) {
      const theirs = eventValues(Buffer.from(bytes).toString());
      const difference = pathDifference(eventValues(await stream(body)), theirs);
      expect(difference).toEqual({ onlyOurs: grown, onlyTheirs: [] });
    }
  });

  it("its calls have the recorded keys", async () => {
    for (const { bytes } of recorded("json-other-tool")) {
      const body = {
        ...request,
        messages: [{ role: "user", content: "the weather in Oslo" }],
        tools: [weather],
      };
      const theirs = eventValues(Buffer.from(bytes).toString());
      const { onlyTheirs } = pathDifference(eventValues(await stream(body)), theirs);
      expect(onlyTheirs).toEqual([]);
    }
  });
});
