import type OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { collect, type Engine, type EngineGateway } from "../engine-gateway.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    strict: true,
  },
};
const time: OpenAI.ChatCompletionTool = {
  type: "function",
  function: { name: "get_time", parameters: { type: "object", properties: {} } },
};

/** JSON that no parser and printer would give back as it is. */
const ODD_ARGUMENTS =
  '{ "city":"Osl\\u00f8",  "big":12345678901234567890, "n":1.0e0,"city":"Oslo" }';

export function toolCases(engine: Engine, opened: () => EngineGateway): void {
  describe("tools and images", () => {
    let world: EngineGateway;
    let client: OpenAI;
    let chatModel: string;

    beforeAll(() => {
      world = opened();
      client = world.openai;
      chatModel = world.modelId("sim-chat");
    });

    const ask = (
      content: string,
      rest: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {},
    ): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
      model: chatModel,
      messages: [{ role: "user", content }],
      tools: [weather, time],
      ...rest,
    });

    it("answers with parallel calls of one turn", async () => {
      const answer = await client.chat.completions.create(
        ask("What is the weather in Oslo and the time?"),
      );
      const [choice] = answer.choices;
      expect(choice?.finish_reason).toBe("tool_calls");
      expect(choice?.message.content).toBeNull();
      const calls = callsOf(choice?.message);
      expect(calls.map(({ function: { name } }) => name)).toEqual(["get_weather", "get_time"]);
      expect(JSON.parse(calls[0]?.function.arguments ?? "")).toHaveProperty("city");
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      for (const { id, type } of calls) {
        expect(type).toBe("function");
        expect(id).toMatch(/^[\w-]{1,64}$/);
      }
    });

    it("streams parallel calls: id and name once, an index each, the arguments in pieces", async () => {
      world.simulator.script({
        toolCalls: [
          { name: "get_weather", arguments: { city: "Oslo" } },
          { name: "get_weather", arguments: { city: "Århus" } },
          { name: "get_time", arguments: {} },
        ],
        argumentCharacters: 3,
        interleaveToolCalls: true,
      });
      const chunks = await collect(
        await client.chat.completions.create({ ...ask("both"), stream: true }),
      );
      const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
      const calls = new Map<number, { ids: string[]; names: string[]; text: string }>();
      for (const { index, id, function: said } of pieces) {
        const call = calls.get(index) ?? { ids: [], names: [], text: "" };
        if (id !== undefined) call.ids.push(id);
        if (said?.name !== undefined) call.names.push(said.name);
        call.text += said?.arguments ?? "";
        calls.set(index, call);
      }
      expect([...calls.keys()].sort()).toEqual([0, 1, 2]);
      expect([0, 1, 2].map((index) => calls.get(index)?.names)).toEqual([
        ["get_weather"],
        ["get_weather"],
        ["get_time"],
      ]);
      expect([0, 1, 2].map((index) => JSON.parse(calls.get(index)?.text || "{}"))).toEqual([
        { city: "Oslo" },
        { city: "Århus" },
        {},
      ]);
      const ids = [...calls.values()].flatMap((call) => call.ids);
      expect(ids).toHaveLength(3);
      expect(new Set(ids).size).toBe(3);
      expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
      expect(chunks.every(({ choices }) => !choices[0]?.delta.content)).toBe(true);
    });

    it("gives the engine's arguments byte for byte, whole and streaming", async () => {
      world.simulator.script({ respond: engineAnswer(false) }, { respond: engineAnswer(true) });
      const whole = await client.chat.completions.create(ask("odd"));
      expect(callsOf(whole.choices[0]?.message)[0]?.function.arguments).toBe(ODD_ARGUMENTS);
      const streamed = await client.chat.completions
        .stream({ ...ask("odd"), stream: true })
        .finalMessage();
      expect(callsOf(streamed)[0]?.function.arguments).toBe(ODD_ARGUMENTS);
    });

    it("gives the client's arguments to the engine byte for byte, with the result after them", async () => {
      await client.chat.completions.create({
        model: chatModel,
        tools: [weather],
        messages: [
          { role: "user", content: "What is the weather in Oslo?" },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: "call_1",
                type: "function",
                function: { name: "get_weather", arguments: ODD_ARGUMENTS },
              },
            ],
          },
          {
            role: "tool",
            tool_call_id: "call_1",
            content: [{ type: "text", text: "Rain, 4 °C" }],
          },
        ],
      });
      const [call] = world.calls();
      const { messages } = world.askedOnce() as { messages: object[] };
      expect(messages.map((message) => (message as { role: string }).role)).toEqual([
        "user",
        "assistant",
        "tool",
      ]);
      expect(messages[2]).toMatchObject({ content: "Rain, 4 °C", tool_call_id: "call_1" });
      if (engine === "ollama") expect(messages[2]).toMatchObject({ tool_name: "get_weather" });
      const written = engine === "ollama" ? ODD_ARGUMENTS : JSON.stringify(ODD_ARGUMENTS);
      expect(call?.body).toContain(`"arguments":${written}`);
    });

    it("carries a whole agent's round: calls, results, answer", async () => {
      const asked: unknown[] = [];
      const runner = client.chat.completions.runTools({
        model: chatModel,
        messages: [{ role: "user", content: "What is the weather in Oslo and Paris?" }],
        tools: [
          {
            type: "function",
            function: {
              name: "get_weather",
              description: "The weather of a city.",
              parameters: { type: "object", properties: { city: { type: "string" } } },
              parse: JSON.parse,
              function: (given: unknown) => {
                asked.push(given);
                return "Rain";
              },
            },
          },
        ],
      });
      expect(await runner.finalContent()).toContain("Rain");
      expect(asked).toHaveLength(2);
      expect(world.asked()).toHaveLength(2);
    });

    it("offers the tools as they were given, and none for tool_choice none", async () => {
      await client.chat.completions.create(ask("hello", { tool_choice: "auto" }));
      const { tools } = world.askedOnce() as { tools: { function: object }[] };
      expect(tools).toHaveLength(2);
      const { name, description, parameters } = weather.type === "function" ? weather.function : {};
      expect(tools[0]?.function).toMatchObject({ name, description, parameters });
      world.simulator.reset();
      const none = await client.chat.completions.create(
        ask("Use get_weather for Oslo", { tool_choice: "none" }),
      );
      expect(none.choices[0]?.finish_reason).toBe("stop");
      expect(none.choices[0]?.message.tool_calls).toBeUndefined();
    });

    it("tells the engine which tool must be called, where it can be told", async () => {
      const answer = await client.chat.completions.create(
        ask("What is the time in Oslo?", {
          tool_choice: { type: "function", function: { name: "get_time" } },
          parallel_tool_calls: false,
        }),
      );
      const body = world.askedOnce();
      expect(callsOf(answer.choices[0]?.message)[0]?.function.name).toBe("get_time");
      expect(answer.choices[0]?.finish_reason).toBe("tool_calls");
      if (engine === "ollama") return;
      expect(body["tool_choice"]).toEqual({ type: "function", function: { name: "get_time" } });
      expect(body["parallel_tool_calls"]).toBe(false);
    });

    it("4.3 offers no tools to a model that cannot use them", async () => {
      if (engine === "vllm") return;
      const answer = await client.chat.completions.create(
        ask("Use get_weather for Oslo", { model: world.modelId("sim-small") }),
      );
      expect(answer.choices[0]?.finish_reason).toBe("stop");
      expect(world.askedOnce()["tools"]).toBeUndefined();
    });

    it("tolerates an empty list of tools", async () => {
      await client.chat.completions.create(ask("hello", { tools: [] }));
      expect(world.askedOnce()["tools"]).toBeUndefined();
    });

    it("hands an image of a data URL to the engine", async () => {
      const url = `data:image/png;base64,${PIXEL}`;
      const answer = await client.chat.completions.create({
        model: chatModel,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url, detail: "low" } },
              { type: "text", text: "And why?" },
            ],
          },
        ],
      });
      expect(answer.choices[0]?.message.content).toContain("I also received 1 image.");
      const { messages } = world.askedOnce() as { messages: unknown[] };
      if (engine === "ollama") {
        expect(messages[0]).toMatchObject({ images: [PIXEL] });
        expect((messages[0] as { content: string }).content).toMatch(
          /^What is this\?\s+And why\?$/,
        );
        return;
      }
      expect(messages[0]).toMatchObject({
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url, detail: "low" } },
          { type: "text", text: "And why?" },
        ],
      });
    });

    it("refuses the address of an image inside the network, and names the block", async () => {
      const url = "http://127.0.0.1:9/cat.png";
      const answer = client.chat.completions.create({
        model: chatModel,
        messages: [
          { role: "user", content: "hello" },
          { role: "user", content: [{ type: "image_url", image_url: { url } }] },
        ],
      });
      await expect(answer).rejects.toMatchObject({
        status: 400,
        code: "invalid_value",
        param: "messages[1].content[0]",
      });
      expect(world.asked()).toEqual([]);
    });

    const engineAnswer = (stream: boolean) =>
      engine === "vllm" ? vllmAnswer(stream) : ollamaAnswer(stream);
  });
}

function callsOf(
  message: OpenAI.ChatCompletionMessage | undefined,
): OpenAI.ChatCompletionMessageFunctionToolCall[] {
  return (message?.tool_calls ?? []).filter((call) => call.type === "function");
}

function vllmAnswer(stream: boolean) {
  const call = {
    id: "chatcmpl-tool-1",
    type: "function",
    function: { name: "get_weather", arguments: ODD_ARGUMENTS },
  };
  const head = { id: "x", created: 1, model: "sim-chat" };
  if (!stream) {
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    return { status: 200, body: { ...head, object: "chat.completion", choices } };
  }
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const body =
    chunk({ role: "assistant", tool_calls: [{ index: 0, ...call }] }, null) +
    chunk({}, "tool_calls") +
    "data: [DONE]\n\n";
  return { status: 200, headers: { "content-type": "text/event-stream" }, body };
}

function ollamaAnswer(stream: boolean) {
  const call = `{"function":{"name":"get_weather","arguments":${ODD_ARGUMENTS}}}`;
  const message = `{"role":"assistant","content":"","tool_calls":[${call}]}`;
  const end = '"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1';
  if (!stream) return { status: 200, body: `{"model":"sim-chat","message":${message},${end}}` };
  const body =
    `{"model":"sim-chat","message":${message},"done":false}\n` +
    `{"model":"sim-chat","message":{"role":"assistant","content":""},${end}}\n`;
  return { status: 200, headers: { "content-type": "application/x-ndjson" }, body };
}
