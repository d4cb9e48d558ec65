import { describe, expect, it } from "vitest";
import { ollamaChatClient } from "../../../src/codecs/ollama-chat/client.ts";
import type { ChatMessage, ChatRequest } from "../../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { readText } from "./read-answers.ts";

const MODEL = { name: "qwen3:8b", contextLength: 8192 };
const HELLO: ChatMessage = { role: "user", content: [{ type: "text", text: "Hello" }] };

function request(more: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: "qwen3",
    messages: [HELLO],
    tools: [],
    parameters: {},
    stream: true,
    ...more,
  };
}

function build(more: Partial<ChatRequest> = {}, model = MODEL) {
  return JSON.parse(ollamaChatClient.build(request(more), model));
}

function buildMessages(messages: ChatMessage[]) {
  return build({ messages }).messages;
}

function refusal(messages: ChatMessage[]): ServiceError {
  try {
    buildMessages(messages);
  } catch (error) {
    if (error instanceof ServiceError) return error;
  }
  return expect.fail("it was taken");
}

function call(callId: string, name: string, argumentsText: string): ChatMessage {
  return {
    role: "assistant",
    content: [{ type: "tool-call", callId, name, arguments: argumentsText }],
  };
}

describe("the body", () => {
  it.each([
    '{"__proto__":{"format":"json","num_ctx":1}}',
    '{"options":{"__proto__":{"temperature":2}}}',
  ])("takes no setting out of a field called __proto__: %s", (text) => {
    const body = build({ parameters: { extra: JSON.parse(text) } });
    expect(body.format).toBeUndefined();
    expect(body.options).toMatchObject({ num_ctx: 8192 });
    expect(body.options.temperature).toBeUndefined();
  });

  it("says the model, the messages, stream and the context, and nothing that was not asked for", () => {
    expect(build()).toEqual({
      model: "qwen3:8b",
      messages: [{ role: "user", content: "Hello" }],
      stream: true,
      truncate: false,
      shift: false,
      options: { num_ctx: 8192 },
    });
    expect(build({ stream: false }).stream).toBe(false);
  });

  it("leaves the options out when there are none", () => {
    const model = { name: "m", contextLength: undefined };
    expect(JSON.parse(ollamaChatClient.build(request(), model))).not.toHaveProperty("options");
  });

  it("4.3: puts generation parameters into the options by the engine's names", () => {
    const parameters = {
      temperature: 0,
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 100,
      stop: ["END"],
      seed: 7,
      presencePenalty: 0.5,
      frequencyPenalty: -0.5,
      logprobs: true,
      topLogprobs: 2,
    };
    expect(build({ parameters })).toMatchObject({
      options: {
        num_ctx: 8192,
        num_predict: 100,
        temperature: 0,
        top_p: 0.9,
        top_k: 40,
        seed: 7,
        stop: ["END"],
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
      },
      logprobs: true,
      top_logprobs: 2,
    });
  });

  it("4.3: lets further fields through, each to its place", () => {
    const extra = {
      min_p: 0.05,
      repetition_penalty: 1.1,
      mirostat: 2,
      keep_alive: "10m",
      think: "high",
      truncate: true,
      user: "u-1",
      options: { num_keep: 4, dry_multiplier: 0.8 },
    };
    const body = build({ parameters: { extra } });
    expect(body.options).toEqual({
      num_ctx: 8192,
      min_p: 0.05,
      repeat_penalty: 1.1,
      mirostat: 2,
      num_keep: 4,
      dry_multiplier: 0.8,
    });
    expect(body).toMatchObject({ keep_alive: "10m", think: "high", truncate: true, user: "u-1" });
    expect(build({ parameters: { extra: { think: false } } }).think).toBe(false);
  });

  it("takes nothing from a client that would load the model anew or be another request", () => {
    const harmful = {
      num_ctx: 1,
      num_gpu: 0,
      num_thread: 1,
      num_batch: 1,
      main_gpu: 1,
      use_mmap: false,
      num_predict: -1,
    };
    const own = { model: "x", messages: [], stream: false, tools: [{}], shift: true };
    const extra = { ...harmful, ...own, options: { ...harmful, temperature: 2, seed: 3 } };
    expect(build({ parameters: { extra, temperature: 0.5 } })).toEqual({
      ...build(),
      options: { num_ctx: 8192, temperature: 0.5, seed: 3 },
    });
    expect(build({ parameters: { extra: { options: "num_ctx" } } })).toEqual(build());
  });

  it("asks for JSON, or for JSON of a schema", () => {
    const schema = { type: "object", properties: { a: { type: "integer" } } };
    const format = (responseFormat: ChatRequest["parameters"]["responseFormat"]) =>
      build({ parameters: { responseFormat } }).format;
    expect(format({ type: "json_object" })).toBe("json");
    expect(format({ type: "json_schema", name: "n", schema })).toEqual(schema);
    expect(format({ type: "json_schema", name: "n", schema: undefined })).toBe("json");
    expect(format({ type: "text" })).toBeUndefined();
    expect(build({ parameters: { extra: { format: "json" } } }).format).toBe("json");
  });

  it("offers the tools that the choice leaves: all, the one that is named, or none", () => {
    const parameters = { type: "object", properties: { city: { type: "string" } } };
    const tools = [{ name: "weather", description: "Tells it", parameters }, { name: "now" }];
    const offered = [
      { type: "function", function: { name: "weather", description: "Tells it", parameters } },
      {
        type: "function",
        function: { name: "now", parameters: { type: "object", properties: {} } },
      },
    ];
    expect(build({ tools }).tools).toEqual(offered);
    expect(build({ tools, toolChoice: { type: "required" } }).tools).toEqual(offered);
    expect(build({ tools, toolChoice: { type: "tool", name: "now" } }).tools).toEqual([offered[1]]);
    expect(build({ tools, toolChoice: { type: "none" } })).not.toHaveProperty("tools");
    expect(build({ tools: [] })).not.toHaveProperty("tools");
  });

  it("gives each property an object for its schema, which is all that the engine reads", () => {
    const parameters = { type: "object", properties: { value: true, other: { type: "string" } } };
    const [tool] = build({ tools: [{ name: "store", parameters }] }).tools;
    expect(tool.function.parameters.properties).toEqual({ value: {}, other: { type: "string" } });
  });

  it.each([{ type: "required" }, { type: "tool", name: "now" }] as const)(
    "has the system text say that a tool must be called when the choice is %j",
    (toolChoice) => {
      const tools = [{ name: "now" }];
      const mustCall = /by calling at least one of the offered tools/;
      const [first, second] = build({ tools, toolChoice }).messages;
      expect(first).toEqual({ role: "system", content: expect.stringMatching(mustCall) });
      expect(second).toEqual({ role: "user", content: "Hello" });
      const system: ChatMessage = {
        role: "system",
        content: [{ type: "text", text: "Be brief." }],
      };
      const { messages } = build({ tools, toolChoice, messages: [system, HELLO] });
      expect(messages).toHaveLength(2);
      expect(messages[0].content).toMatch(/^Be brief\.\n/);
      expect(messages[0].content).toMatch(mustCall);
    },
  );

  it.each([
    [{ type: "auto" }, [{ name: "now" }]],
    [{ type: "none" }, [{ name: "now" }]],
    [{ type: "required" }, []],
  ] as const)(
    "leaves the conversation as it is when the choice is %j of %j",
    (toolChoice, tools) => {
      expect(build({ tools, toolChoice }).messages).toEqual(build().messages);
    },
  );
});

describe("a format in the form of llama.cpp", () => {
  const withFormat = (format: JsonObject) => ({
    parameters: { extra: { response_format: format } },
  });
  const schema = { type: "object" };

  it.each([
    [{ type: "json_object", schema }, schema],
    [{ type: "json_object", strict: true }, "json"],
  ])("%j is the engine's own", (format, expected) => {
    const body = build(withFormat(format));
    expect(body.format).toEqual(expected);
    expect(body).not.toHaveProperty("response_format");
    expect(ollamaChatClient.unsaid?.(request(withFormat(format)))).toEqual([]);
  });

  it("that the engine does not have is not sent, and named", () => {
    const format = { type: "grammar", grammar: "root ::= 'a'" };
    const body = build(withFormat(format));
    expect(body.format).toBe(undefined);
    expect(body).not.toHaveProperty("response_format");
    expect(ollamaChatClient.unsaid?.(request(withFormat(format)))).toEqual(["response_format"]);
  });
});

describe("messages", () => {
  it("keep their order and place, system messages too, with the texts of a message joined", () => {
    expect(
      buildMessages([
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: 'b "\u{1F600}' },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "Hm" },
            { type: "reasoning", text: "m." },
            { type: "text", text: "c" },
            { type: "refusal", text: "No." },
          ],
        },
        { role: "system", content: [{ type: "text", text: "Be kind." }] },
      ]),
    ).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: 'a\nb "\u{1F600}' },
      { role: "assistant", content: "c\nNo.", thinking: "Hmm." },
      { role: "system", content: "Be kind." },
    ]);
  });

  it("carry images as bare base64", () => {
    const source = { kind: "base64", mediaType: "image/png", data: "aGk=" } as const;
    expect(
      buildMessages([
        {
          role: "user",
          content: [
            { type: "image", source },
            { type: "text", text: "What?" },
          ],
        },
        { role: "tool", callId: "c", content: [{ type: "image", source }] },
      ]),
    ).toEqual([
      { role: "user", content: "What?", images: ["aGk="] },
      { role: "tool", tool_call_id: "c", content: "", images: ["aGk="] },
    ]);
  });

  it("name the tool that a result is of", () => {
    const result = (callId: string): ChatMessage => ({
      role: "tool",
      callId,
      content: [{ type: "text", text: "4°" }],
    });
    const messages = [
      call("c1", "weather", "{}"),
      call("c2", "now", ""),
      result("c2"),
      result("c1"),
    ];
    expect(buildMessages(messages)).toEqual([
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c1", function: { name: "weather", arguments: {} } }],
      },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c2", function: { name: "now", arguments: {} } }],
      },
      { role: "tool", tool_name: "now", tool_call_id: "c2", content: "4°" },
      { role: "tool", tool_name: "weather", tool_call_id: "c1", content: "4°" },
    ]);
  });

  it("name the block that the engine cannot take", () => {
    const url: ChatMessage = {
      role: "user",
      content: [
        { type: "text", text: "What?" },
        { type: "image", source: { kind: "url", url: "https://example.com/a.png" } },
      ],
    };
    const audio: ChatMessage = {
      role: "user",
      content: [{ type: "audio", data: "aGk=", format: "wav" }],
    };
    expect(refusal([HELLO, url])).toMatchObject({
      code: "invalid_value",
      status: 400,
      param: "messages[1].content[1]",
      message: expect.stringContaining("cannot fetch"),
    });
    expect(refusal([audio])).toMatchObject({
      code: "invalid_value",
      status: 400,
      param: "messages[0].content[0]",
      message: expect.stringContaining("audio"),
    });
  });
});

describe("arguments of tool calls", () => {
  it.each([
    '{"n":9007199254740993,"m":-123456789012345678901234567890,"f":1.0,"e":1E400}',
    '{ "a" : [ 1 , {"b":"\\u00e9\\ud83d\\ude00"} ],\n "a":2 }',
    '{"__proto__":{"x":1},"s":"</tool> \\" \\\\ 日本"}',
  ])("reach the engine byte for byte: %s", (text) => {
    const body = ollamaChatClient.build(request({ messages: [call("c", "f", text)] }), MODEL);
    expect(() => JSON.parse(body)).not.toThrow();
    expect(body).toContain(`"arguments":${text}}}]}`);
  });

  it("come back byte for byte and go out again the same", () => {
    const text = '{"id":  12345678901234567890, "x":0.10}';
    const wire = `{"message":{"tool_calls":[{"function":{"name":"f","arguments":${text}}}]},"done":true}`;
    const delta = readText(wire).find((event) => event.type === "tool-call-delta");
    expect(delta).toMatchObject({ arguments: text });
    const again = ollamaChatClient.build(
      request({
        messages: [call("c", "f", delta?.type === "tool-call-delta" ? delta.arguments : "")],
      }),
      MODEL,
    );
    expect(again).toContain(`"arguments":${text}`);
  });

  it.each([
    ["", {}],
    [" \n", {}],
    ["null", {}],
    ["[1,2]", { value: [1, 2] }],
    ["7", { value: 7 }],
    ['"text"', { value: "text" }],
    ['{"city":"Os', { value: '{"city":"Os' }],
    ["{}{}", { value: "{}{}" }],
  ])("that are no object are wrapped into one: %j", (text, expected) => {
    const [message] = buildMessages([call("c", "f", text)]);
    expect(message.tool_calls[0].function.arguments).toEqual(expected);
  });

  it("H05: may nest 128 deep and no deeper", () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect(buildMessages([call("c", "f", nested(128))])).toHaveLength(1);
    for (const depth of [129, 1_000_000]) {
      expect(refusal([HELLO, call("c", "f", nested(depth))])).toMatchObject({
        code: "invalid_json",
        status: 400,
        param: "messages[1].tool_calls[0].function.arguments",
      });
    }
  });
});
