import type Anthropic from "@anthropic-ai/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { anthropicBefore, postMessages } from "../ask-messages.ts";
import type { Engine, EngineGateway } from "../engine-gateway.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const picture = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: PIXEL },
} as const;

const weather: Anthropic.Tool = {
  name: "get_weather",
  description: "The weather of a city.",
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};
const time: Anthropic.Tool = {
  name: "get_time",
  input_schema: { type: "object", properties: {} },
};
const search = { type: "web_search_20250305", name: "web_search", max_uses: 5 } as const;

/** JSON that no parser and printer would give back as it is. */
const ODD_INPUT = '{ "city":"Oslo",  "big":12345678901234567890 }';

/** A whole answer, and a stream of one line as well. */
const OLLAMA_ANSWER = `{"model":"sim-chat","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":${ODD_INPUT}}}]},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}\n`;

export function messageToolCases(engine: Engine, opened: () => EngineGateway): void {
  describe("tools and images of POST /v1/messages", () => {
    let world: EngineGateway;
    let client: Anthropic;

    beforeAll(() => {
      world = opened();
      client = anthropicBefore(world);
    });

    const params = (content: string, more: Partial<Params> = {}): Params => ({
      model: world.modelId("sim-chat"),
      max_tokens: 1_024,
      messages: [{ role: "user", content }],
      tools: [weather, time, search],
      ...more,
    });
    const toolUses = ({ content }: Anthropic.Message) =>
      content.filter((block) => block.type === "tool_use");

    it("answers with parallel calls of one turn, whole and streaming", async () => {
      const asked = params("What is the weather in Oslo and the time?");
      for (const message of [
        await client.messages.create(asked),
        await client.messages.stream(asked).finalMessage(),
      ]) {
        expect(message.stop_reason).toBe("tool_use");
        const calls = toolUses(message);
        expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
        expect(calls[0]?.input).toHaveProperty("city");
        expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
        for (const { id } of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
      }
      const { tools } = world.asked()[0] as { tools: { function: object }[] };
      expect(tools).toHaveLength(2);
      expect(tools[0]?.function).toMatchObject({
        name: "get_weather",
        description: "The weather of a city.",
        parameters: weather.input_schema,
      });
    });

    it("streams interleaved calls one after the other", async () => {
      world.simulator.script({
        toolCalls: [
          { name: "get_weather", arguments: { city: "Oslo" }, id: "functions.get_weather:0" },
          { name: "get_weather", arguments: { city: "Århus" } },
          { name: "get_time", arguments: {} },
        ],
        argumentCharacters: 3,
        interleaveToolCalls: true,
      });
      const message = await client.messages.stream(params("both")).finalMessage();
      expect(toolUses(message).map(({ name, input }) => [name, input])).toEqual([
        ["get_weather", { city: "Oslo" }],
        ["get_weather", { city: "Århus" }],
        ["get_time", {}],
      ]);
    });

    it("gives the engine's input with integers of any size, whole and streaming", async () => {
      const call = { toolCalls: [{ name: "get_weather", arguments: ODD_INPUT }] };
      const script = engine === "vllm" ? call : { respond: { status: 200, body: OLLAMA_ANSWER } };
      world.simulator.script(script, script);
      const whole = await (await postMessages(world, params("odd"))).text();
      expect(whole).toContain("12345678901234567890");
      const streamed = await postMessages(world, { ...params("odd"), stream: true });
      expect(readMessageStream(await streamed.text()).blocks[0]?.input).toContain(
        "12345678901234567890",
      );
    });

    it("carries a whole agent's round: calls, results with a picture, answer", async () => {
      const asked = params("What is the weather in Oslo and Paris?");
      const first = await client.messages.stream(asked).finalMessage();
      const calls = toolUses(first);
      expect(calls).toHaveLength(2);
      world.simulator.reset();
      const answer = await client.messages.create({
        ...asked,
        tool_choice: { type: "none" },
        messages: [
          ...asked.messages,
          { role: "assistant", content: first.content },
          {
            role: "user",
            content: calls.map(({ id }, index) => ({
              type: "tool_result",
              tool_use_id: id,
              content: index === 0 ? "Rain" : [{ type: "text", text: "Seen" }, picture],
            })),
          },
        ],
      });
      expect(answer.content).toMatchObject([{ type: "text" }]);
      const { messages } = world.askedOnce() as { messages: { role: string }[] };
      const roles = messages.map(({ role }) => role);
      expect(roles.slice(0, 3)).toEqual(["user", "assistant", "tool"]);
      expect(JSON.stringify(messages)).toContain(PIXEL);
    });

    it("gives the client's input to the engine with integers of any size", async () => {
      const text = JSON.stringify(
        params("x", {
          messages: [
            { role: "user", content: "What is the weather?" },
            {
              role: "assistant",
              content: [{ type: "tool_use", id: "t1", name: "get_weather", input: {} }],
            },
            {
              role: "user",
              content: [{ type: "tool_result", tool_use_id: "t1", content: "Rain" }],
            },
          ],
        }),
      ).replace('"input":{}', `"input":${ODD_INPUT}`);
      expect((await postMessages(world, text)).status).toBe(200);
      const written = engine === "ollama" ? ODD_INPUT : JSON.stringify(ODD_INPUT);
      expect(world.calls()[0]?.body).toContain(`"arguments":${written}`);
    });

    it("tells the engine which tool must be called, and how many", async () => {
      const asked = params("What is the weather in Oslo and the time?", {
        tool_choice: { type: "tool", name: "get_time", disable_parallel_tool_use: true },
      });
      const message = await client.messages.create(asked);
      expect(toolUses(message)[0]?.name).toBe("get_time");
      if (engine === "ollama") return;
      expect(message.stop_reason).toBe("tool_use");
      expect(world.askedOnce()).toMatchObject({
        tool_choice: { type: "function", function: { name: "get_time" } },
        parallel_tool_calls: false,
      });
    });

    it("calls none where none may be called", async () => {
      const asked = params("Use get_weather for Oslo", { tool_choice: { type: "none" } });
      expect((await client.messages.create(asked)).stop_reason).toBe("end_turn");
    });

    it("keeps a call that its limit cut off from being taken for a whole one", async () => {
      const text = '{"city":"Os';
      const call = {
        toolCalls: [{ name: "get_weather", arguments: text }],
        finishReason: "length",
      };
      // Only one of the engines writes arguments as text.
      if (engine === "ollama") return;
      world.simulator.script(call, call);
      const whole = await client.messages.create(params("x"));
      expect(whole.stop_reason).toBe("max_tokens");
      expect(toolUses(whole)[0]?.input).toEqual({ value: text });
      const streamed = await client.messages.stream(params("x")).finalMessage();
      expect(streamed.stop_reason).toBe("max_tokens");
    });

    it("hands pictures to the engine", async () => {
      const answer = await client.messages.create(
        params("x", {
          messages: [{ role: "user", content: [{ type: "text", text: "What is this?" }, picture] }],
        }),
      );
      expect(answer.content).toMatchObject([
        { text: expect.stringContaining("I also received 1 image.") },
      ]);
      expect(world.calls()[0]?.body).toContain(PIXEL);
    });
  });
}
