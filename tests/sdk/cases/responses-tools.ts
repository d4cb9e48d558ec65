import type OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import type { EngineGateway } from "../engine-gateway.ts";

type Params = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>;

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const IMAGE = `data:image/png;base64,${PIXEL}`;

const weather: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "get_weather",
  description: "The weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};
const time: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "get_time",
  parameters: { type: "object", properties: {} },
  strict: false,
};
const patch: OpenAI.Responses.CustomTool = {
  type: "custom",
  name: "apply_patch",
  description: "Applies a patch.",
  format: { type: "grammar", syntax: "lark", definition: 'start: "*** Begin"' },
};

/** JSON that no parser and printer would give back as it is. */
const ODD_ARGUMENTS = '{ "city":"Osl\\u00f8",  "big":12345678901234567890, "n":1.0e0 }';

export function responseToolCases(opened: () => EngineGateway): void {
  describe("tools and images of the responses format", () => {
    let world: EngineGateway;
    let client: OpenAI;

    beforeAll(() => {
      world = opened();
      client = world.openai;
    });

    const params = (more: Params) => ({
      model: world.modelId("sim-chat"),
      input: "Use them.",
      tools: [weather, time, patch],
      ...more,
    });
    const ask = (more: Params) => client.responses.create(params(more));
    const streamed = (more: Params) =>
      client.responses.stream({ ...params(more), stream: true }).finalResponse();
    /** What the answer gives as output, for comparison without the items' ids. */
    const itemsOf = ({ output }: OpenAI.Responses.Response) =>
      output.map(({ id: _id, ...item }) => item);

    it("are called in parallel in one turn", async () => {
      const { output, status } = await ask({ input: "What is the weather in Oslo and the time?" });
      expect(status).toBe("completed");
      expect(output).toMatchObject([
        { type: "function_call", name: "get_weather", status: "completed" },
        { type: "function_call", name: "get_time", status: "completed" },
      ]);
      const ids = output.flatMap((item) => (item.type === "function_call" ? [item.call_id] : []));
      expect(new Set(ids).size).toBe(2);
    });

    it("come in a stream side by side, each with its own arguments byte for byte", async () => {
      const cities = ["Oslo", "Århus", "Łódź"];
      world.simulator.script({
        toolCalls: cities.map((city) => ({ name: "get_weather", arguments: { city } })),
        argumentCharacters: 3,
        interleaveToolCalls: true,
      });
      const { output } = await streamed({});
      expect(
        output.map((item) => (item.type === "function_call" ? JSON.parse(item.arguments) : item)),
      ).toEqual(cities.map((city) => ({ city })));
    });

    it("get the client's arguments byte for byte, and their output with its image", async () => {
      await ask({
        input: [
          { role: "user", content: "What is the weather?" },
          { type: "function_call", call_id: "c1", name: "get_weather", arguments: ODD_ARGUMENTS },
          { type: "function_call", call_id: "c2", name: "get_time", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "c1",
            output: [
              { type: "input_text", text: "Rain, 4 °C" },
              { type: "input_image", image_url: IMAGE, detail: "auto" },
            ],
          },
          { type: "function_call_output", call_id: "c2", output: "noon" },
        ],
      });
      const { messages } = world.askedOnce() as { messages: { role: string }[] };
      // An engine may want the image in a message of its own.
      expect(messages.map(({ role }) => role).slice(0, 4)).toEqual([
        "user",
        "assistant",
        "tool",
        "tool",
      ]);
      const body = world.calls()[0]?.body ?? "";
      const isText = world.engine === "vllm";
      expect(body).toContain(isText ? JSON.stringify(ODD_ARGUMENTS) : ODD_ARGUMENTS);
      expect(body).toContain(PIXEL);
      expect(JSON.stringify(messages[2])).toContain("Rain, 4 °C");
    });

    it("of free text are called with their raw input, whole and streaming", async () => {
      const input = '*** Begin Patch\n+ "é" \\ 👋\n*** End';
      const call = { name: "apply_patch", arguments: { input }, id: "call_p" };
      world.simulator.script({ toolCalls: [call], argumentCharacters: 2, times: 2 });
      const expected = [
        {
          type: "custom_tool_call",
          status: "completed",
          call_id: "call_p",
          name: "apply_patch",
          input,
        },
      ];
      const first = await ask({});
      expect(itemsOf(first)).toEqual(expected);
      expect(itemsOf(await streamed({}))).toEqual(expected);
      const { tools } = world.asked()[0] as { tools: { function: { description: string } }[] };
      expect(tools[2]?.function).toMatchObject({
        name: "apply_patch",
        description: expect.stringContaining('start: "*** Begin"'),
        parameters: { required: ["input"] },
      });

      world.simulator.reset();
      await ask({
        input: [
          { role: "user", content: "Go" },
          ...(first.output as OpenAI.Responses.ResponseInput),
          { type: "custom_tool_call_output", call_id: "call_p", output: "done" },
        ],
      });
      const { messages } = world.askedOnce() as { messages: { role: string }[] };
      expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
      expect(JSON.stringify(messages[1])).toContain("*** Begin Patch");
    });

    it("of a namespace are called with it, whole and streaming", async () => {
      const tools: OpenAI.Responses.Tool[] = [
        {
          type: "namespace",
          name: "agents",
          description: "Helpers.",
          tools: [{ type: "function", name: "spawn" }],
        },
        { ...time, name: "spawn" },
      ];
      world.simulator.script({
        toolCalls: [
          { name: "agents__spawn", arguments: {} },
          { name: "spawn", arguments: {} },
        ],
        times: 2,
      });
      for (const { output } of [await ask({ tools }), await streamed({ tools })]) {
        expect(output).toMatchObject([{ name: "spawn", namespace: "agents" }, { name: "spawn" }]);
        expect(output[1]).not.toHaveProperty("namespace");
      }
    });

    it("that only their vendor has are left out, and so is a choice of them", async () => {
      const answer = await ask({
        input: "Say: hi",
        tools: [{ type: "web_search" }, { type: "code_interpreter", container: "x" }],
        tool_choice: { type: "web_search_preview" },
      });
      expect(answer).toMatchObject({ output_text: "hi", tools: [], tool_choice: "auto" });
      expect(world.askedOnce()).not.toHaveProperty("tools");
    });

    it("must be called, or may not be, as the client chooses", async () => {
      const required = await ask({ tool_choice: "required" });
      const none = await ask({ input: "What is the time?", tool_choice: "none" });
      expect(none.output[0]?.type).toBe("message");
      const named = await ask({ tool_choice: { type: "function", name: "get_time" } });
      expect(named.tool_choice).toEqual({ type: "function", name: "get_time" });
      // The single-machine engine knows no choice but its own.
      if (world.engine === "ollama") return;
      expect(required.output[0]?.type).toBe("function_call");
      expect(named.output).toMatchObject([{ name: "get_time" }]);
    });

    it("are not needed to see an image", async () => {
      await ask({
        tools: [],
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "What is this?" },
              { type: "input_image", image_url: IMAGE, detail: "low" },
            ],
          },
        ],
      });
      const { messages } = world.askedOnce() as { messages: object[] };
      expect(messages[0]).toMatchObject(
        world.engine === "ollama"
          ? { content: "What is this?", images: [PIXEL] }
          : {
              content: [
                { type: "text", text: "What is this?" },
                { type: "image_url", image_url: { url: IMAGE, detail: "low" } },
              ],
            },
      );
    });
  });
}
