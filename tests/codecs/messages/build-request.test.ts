import { describe, expect, it } from "vitest";
import { messagesClient } from "../../../src/codecs/messages/client.ts";
import type { ChatRequest, GenerationParameters } from "../../../src/core/chat/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/lib/json/json.ts";
import { replayAnswer } from "../../support/replay-answer.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const HI: ChatRequest = {
  model: "alias",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  parameters: {},
  stream: false,
};
const TOOL = { name: "f", description: "Does f.", parameters: { type: "object" } };

function build(changes: Partial<ChatRequest>) {
  const model = { name: "served", contextLength: undefined };
  return JSON.parse(messagesClient.build({ ...HI, ...changes }, model));
}

const buildWith = (parameters: GenerationParameters) => build({ parameters });

describe("the body for the vendor", () => {
  it("says no more than the request does, but for the limit that the vendor demands", () => {
    expect(build({})).toEqual({
      model: "served",
      max_tokens: 4096,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      stream: false,
    });
  });

  it("has every parameter under its name", () => {
    const parameters = {
      temperature: 0,
      topP: 0.5,
      topK: 7,
      maxOutputTokens: 9,
      stop: ["END"],
    };
    expect(build({ parameters, stream: true })).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      top_k: 7,
      max_tokens: 9,
      stop_sequences: ["END"],
      stream: true,
    });
  });

  it("lets no further field win over what the gateway writes", () => {
    const extra = {
      model: "other",
      messages: [],
      system: "Obey.",
      tools: [{ name: "x" }],
      stream: true,
      temperature: 2,
      metadata: { user_id: "u" },
    };
    expect(buildWith({ extra })).toEqual({ ...build({}), metadata: { user_id: "u" } });
  });

  it("asks for a format beside the effort", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const body = buildWith({
      responseFormat: { type: "json_schema", name: "answer", schema, strict: true },
      extra: { output_config: { effort: "low" } },
    });
    expect(body.output_config).toEqual({ effort: "low", format: { type: "json_schema", schema } });
  });

  it.each([{ type: "text" }, { type: "json_object" }] as const)(
    "leaves out the format %j, for which the vendor has no word",
    (responseFormat) => {
      expect(buildWith({ responseFormat })).not.toHaveProperty("output_config");
    },
  );
});

describe("thinking", () => {
  const said = (thinking: JsonObject, changes: Partial<ChatRequest> = {}) =>
    build({ ...changes, parameters: { extra: { thinking } } }).thinking;

  it("is shown, which newer models must be asked for", () => {
    expect(said({ type: "adaptive" })).toEqual({ type: "adaptive", display: "summarized" });
    expect(said({ type: "adaptive", display: "omitted" })).toMatchObject({ display: "omitted" });
    expect(said({ type: "enabled", budget_tokens: 2000 })).toEqual({
      type: "enabled",
      budget_tokens: 2000,
    });
  });

  it("is not shown to a client that wants none", () => {
    for (const type of ["adaptive", "enabled"]) {
      expect(said({ type }, { omitsReasoning: true })).toEqual({ type, display: "omitted" });
    }
    expect(said({ type: "disabled" }, { omitsReasoning: true })).toEqual({ type: "disabled" });
  });

  it("with a budget is off while the model goes on after calls that it did not think before", () => {
    const goOn = (signature: string | undefined): Partial<ChatRequest> => ({
      messages: [
        ...HI.messages,
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Hm.", signature },
            { type: "tool-call", callId: "c1", name: "f", arguments: "{}" },
          ],
        },
        { role: "tool", callId: "c1", content: [{ type: "text", text: "1" }] },
      ],
      tools: [TOOL],
    });
    const budget = { type: "enabled", budget_tokens: 2000 };
    expect(said(budget, goOn(undefined))).toBeUndefined();
    expect(said(budget, goOn("gemini.c2ln"))).toBeUndefined();
    expect(said(budget, goOn("c2ln"))).toEqual(budget);
    expect(said({ type: "adaptive" }, goOn(undefined))).toMatchObject({ type: "adaptive" });
  });
});

describe("tools", () => {
  it("are objects to the vendor, whatever their schema says", () => {
    const schemas = [undefined, {}, { type: "string" }, { properties: { a: {} }, required: ["a"] }];
    const { tools } = build({
      tools: schemas.map((parameters, index) => ({ name: `f${index}`, parameters })),
    });
    expect(tools.map((tool: JsonObject) => tool["input_schema"])).toEqual([
      { type: "object", properties: {} },
      { type: "object", properties: {} },
      { type: "object", properties: {} },
      { type: "object", properties: { a: {} }, required: ["a"] },
    ]);
  });

  it("are strict only where the client asks for it", () => {
    const { tools } = build({
      tools: [
        { ...TOOL, strict: true },
        { ...TOOL, strict: false },
      ],
    });
    expect(tools.map((tool: JsonObject) => tool["strict"])).toEqual([true, undefined]);
  });

  it.each([
    [{ toolChoice: { type: "auto" } }, { type: "auto" }],
    [{ toolChoice: { type: "required" } }, { type: "any" }],
    [{ toolChoice: { type: "none" } }, { type: "none" }],
    [{ toolChoice: { type: "tool", name: "f" } }, { type: "tool", name: "f" }],
    [{ parallelToolCalls: true }, undefined],
    [{ parallelToolCalls: false }, { type: "auto", disable_parallel_tool_use: true }],
    [
      { parallelToolCalls: false, toolChoice: { type: "required" } },
      { type: "any", disable_parallel_tool_use: true },
    ],
    [{ parallelToolCalls: false, toolChoice: { type: "none" } }, { type: "none" }],
  ] as const)("are chosen from as %j says", (asked, choice) => {
    expect(build({ tools: [TOOL], ...asked }).tool_choice).toEqual(choice);
    expect(build(asked)).not.toHaveProperty("tool_choice");
  });

  it("that were called but are not offered are named and closed", () => {
    const call = (callId: string) =>
      ({ type: "tool-call", callId, name: "f", arguments: "{}" }) as const;
    const body = build({
      messages: [...HI.messages, { role: "assistant", content: [call("c1"), call("c2")] }],
    });
    expect(body).toMatchObject({
      tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
      tool_choice: { type: "none" },
    });
    expect(body.tools).toHaveLength(1);
  });
});

describe("marks for the vendor's cache", () => {
  const mark = { type: "ephemeral" };
  const marked = (text: string) => ({ type: "text", text, cacheControl: mark }) as const;

  it("stand where the client put them", () => {
    const body = build({
      tools: [{ ...TOOL, cacheControl: mark }],
      messages: [
        { role: "system", content: [marked("Be brief.")] },
        { role: "user", content: [{ type: "text", text: "Hi" }] },
        {
          role: "assistant",
          content: [
            { type: "tool-call", callId: "c1", name: "f", arguments: "{}", cacheControl: mark },
          ],
        },
        {
          role: "tool",
          callId: "c1",
          content: [{ type: "text", text: "1" }],
          cacheControl: { ...mark, ttl: "1h" },
        },
      ],
    });
    expect(body.tools[0].cache_control).toEqual(mark);
    expect(body.system[0].cache_control).toEqual(mark);
    expect(body.messages[0].content[0]).not.toHaveProperty("cache_control");
    expect(body.messages[1].content[0].cache_control).toEqual(mark);
    expect(body.messages[2].content[0].cache_control).toEqual({ ...mark, ttl: "1h" });
  });

  it("are four at most, the last ones", () => {
    const messages = [{ role: "user", content: [..."abcdef"].map(marked) }] as const;
    const marks = (extra: JsonObject) =>
      build({ messages, parameters: { extra } })
        .messages[0].content.filter(({ cache_control }: JsonObject) => cache_control)
        .map(({ text }: JsonObject) => text)
        .join("");
    expect(marks({})).toBe("cdef");
    expect(marks({ cache_control: mark })).toBe("def");
  });
});

/** A recorded body in the words that this codec uses for the same. */
function inOurWords(body: JsonObject): JsonObject {
  const { system, messages } = body;
  const blocks = (content: unknown) =>
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  const ours = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value));
  const normalised = JSON.parse(JSON.stringify(messages), (_key, value) => {
    if (!isJsonObject(value) || value["type"] !== "tool_result") return value;
    const { is_error: _never, content, ...rest } = value;
    return { ...rest, content: blocks(content) };
  });
  if (system === undefined) return { ...body, messages: normalised };
  return { ...body, messages: normalised, system: ours(blocks(system)) };
}

const fixtures = new Map(
  readSharedFixtures(["anthropic"], ".json").map(({ name, bytes }) => [
    name,
    new TextDecoder().decode(bytes),
  ]),
);

describe.skipIf(fixtures.size === 0)("a recorded conversation", () => {
  const cases = ["anthropic_tool_with_thinking", "multiple_parallel_tool_calls"].filter((name) =>
    fixtures.has(`anthropic/${name}/01.request.json`),
  );

  it.each(cases)("is sent as it was recorded, its sealed thoughts unchanged: %s", async (name) => {
    const file = (part: string) => fixtures.get(`anthropic/${name}/${part}.json`) ?? "";
    const recorded = inOurWords(JSON.parse(file("01.request")));
    const { tools, tool_choice: _auto, thinking, system, max_tokens, model, messages } = recorded;
    const [asked, , results] = messages as unknown as { content: JsonObject[] }[];
    const text = (value: unknown) =>
      (value as { text: string }[]).map(({ text }) => ({ type: "text", text }) as const);
    const request: ChatRequest = {
      ...HI,
      messages: [
        ...(system === undefined ? [] : [{ role: "system", content: text(system) } as const]),
        { role: "user", content: text(asked?.content) },
        await replayAnswer(messagesClient.readAnswer(file("00.response"))),
        ...(results?.content ?? []).map(
          (result) =>
            ({
              role: "tool",
              callId: String(result["tool_use_id"]),
              content: text(result["content"]),
            }) as const,
        ),
      ],
      tools: (tools as unknown as JsonObject[]).map((tool) => ({
        name: String(tool["name"]),
        description: String(tool["description"]),
        parameters: tool["input_schema"] as JsonObject,
      })),
      toolChoice: { type: "auto" },
      parameters: {
        maxOutputTokens: Number(max_tokens),
        ...(thinking !== undefined && { extra: { thinking } }),
      },
    };
    const body = messagesClient.build(request, { name: String(model), contextLength: undefined });
    expect(JSON.parse(body)).toEqual(recorded);
  });
});
