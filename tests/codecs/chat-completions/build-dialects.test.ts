import { describe, expect, it } from "vitest";
import {
  type Dialect,
  MISTRAL_DIALECT,
  OPENAI_DIALECT,
  PLAIN_DIALECT,
  STRICT_DIALECT,
} from "../../../src/codecs/chat-completions/client/dialect.ts";
import { createChatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import type {
  ChatMessage,
  ChatRequest,
  DocumentPart,
  ImagePart,
  TextPart,
} from "../../../src/core/chat/chat-request.ts";
import { ServiceError } from "../../../src/core/service-error.ts";

const text = (said: string): TextPart => ({ type: "text", text: said });
const user = (said: string): ChatMessage => ({ role: "user", content: [text(said)] });
const system = (said: string): ChatMessage => ({ role: "system", content: [text(said)] });
const assistant = (said: string): ChatMessage => ({ role: "assistant", content: [text(said)] });
const call = (callId: string): ChatMessage => ({
  role: "assistant",
  content: [{ type: "tool-call", callId, name: "f", arguments: ' {"a" : 1e2} ' }],
});
const PICTURE: ImagePart = {
  type: "image",
  source: { kind: "base64", mediaType: "image/png", data: "AAAA" },
};
const PICTURE_ON_THE_WIRE = {
  type: "image_url",
  image_url: { url: "data:image/png;base64,AAAA" },
};
const PDF: DocumentPart = {
  type: "document",
  source: { kind: "base64", mediaType: "application/pdf", data: "JVBERi0=" },
  title: "a.pdf",
};

function build(dialect: Dialect, changes: Partial<ChatRequest>) {
  const request = { model: "m", messages: [user("Hi")], tools: [], parameters: {}, stream: false };
  const model = { name: "served", contextLength: undefined };
  return JSON.parse(createChatCompletionsClient(dialect).build({ ...request, ...changes }, model));
}

const messagesOf = (dialect: Dialect, messages: readonly ChatMessage[]) =>
  build(dialect, { messages }).messages;

describe("what each dialect makes of a request", () => {
  const whole: Partial<ChatRequest> = {
    messages: [
      { role: "system", content: [text("Be kind.")], name: "s" },
      { role: "assistant", content: [{ type: "reasoning", text: "Hm" }, text("A")] },
      user("B"),
    ],
    tools: [{ name: "f" }],
    toolChoice: { type: "required" },
    parallelToolCalls: false,
    parameters: { seed: 7 },
    stream: true,
  };
  const rows: [string, Dialect, object][] = [
    [
      "plain",
      PLAIN_DIALECT,
      {
        seed: 7,
        stream_options: { include_usage: true },
        parallel_tool_calls: false,
        tool_choice: "required",
        tools: [{ type: "function", function: { name: "f" } }],
        messages: [
          { role: "system", content: "Be kind.", name: "s" },
          { role: "assistant", content: "A", reasoning_content: "Hm" },
          { role: "user", content: "B" },
        ],
      },
    ],
    [
      "OpenAI",
      OPENAI_DIALECT,
      {
        seed: 7,
        stream_options: { include_usage: true },
        parallel_tool_calls: false,
        tool_choice: "required",
        tools: [{ type: "function", function: { name: "f" } }],
        messages: [
          { role: "system", content: "Be kind.", name: "s" },
          { role: "assistant", content: "A" },
          { role: "user", content: "B" },
        ],
      },
    ],
    [
      "strict",
      STRICT_DIALECT,
      {
        seed: 7,
        tool_choice: "required",
        tools: [{ type: "function", function: { name: "f" } }],
        messages: [
          { role: "system", content: "Be kind." },
          { role: "assistant", content: "A" },
          { role: "user", content: "B" },
        ],
      },
    ],
    [
      "Mistral",
      MISTRAL_DIALECT,
      {
        random_seed: 7,
        parallel_tool_calls: false,
        tool_choice: "any",
        tools: [
          {
            type: "function",
            function: { name: "f", parameters: { type: "object", properties: {} } },
          },
        ],
        messages: [
          { role: "system", content: "Be kind." },
          { role: "assistant", content: "A" },
          { role: "user", content: "B" },
        ],
      },
    ],
  ];

  it.each(rows)("%s", (_name, dialect, expected) => {
    expect(build(dialect, whole)).toEqual({ model: "served", stream: true, ...expected });
  });

  it("names system messages otherwise where a dialect says so, and leaves their number and place", () => {
    const dialect: Dialect = { ...OPENAI_DIALECT, systemRole: "developer" };
    const built = messagesOf(dialect, [system("A"), system("B"), user("C"), system("D")]);
    expect(built.map(({ role }: { role: string }) => role)).toEqual([
      "developer",
      "developer",
      "user",
      "developer",
    ]);
  });

  it("lets a client's own seed for that vendor through, but not over the request's", () => {
    const extra = { random_seed: 3 };
    expect(build(MISTRAL_DIALECT, { parameters: { extra } }).random_seed).toBe(3);
    expect(build(MISTRAL_DIALECT, { parameters: { seed: 0, extra } }).random_seed).toBe(0);
  });
});

describe("images and documents in the results of tools", () => {
  const batch: readonly ChatMessage[] = [
    user("Look."),
    call("c1"),
    call("c2"),
    { role: "tool", callId: "c1", content: [text("one"), PICTURE] },
    { role: "tool", callId: "c2", content: [PICTURE, PDF] },
    user("Well?"),
  ];

  it.each([
    ["plain", PLAIN_DIALECT],
    ["OpenAI", OPENAI_DIALECT],
    ["strict", STRICT_DIALECT],
  ])("follow the batch in a user message that says whose they are: %s", (_name, dialect) => {
    expect(messagesOf(dialect, batch).slice(3)).toEqual([
      { role: "tool", tool_call_id: "c1", content: "one" },
      { role: "tool", tool_call_id: "c2", content: "The result follows in the next message." },
      {
        role: "user",
        content: [
          { type: "text", text: "This belongs to the result of the tool call c1:" },
          PICTURE_ON_THE_WIRE,
          { type: "text", text: "This belongs to the result of the tool call c2:" },
          PICTURE_ON_THE_WIRE,
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
          },
        ],
      },
      { role: "user", content: "Well?" },
    ]);
  });

  it("follow each batch of their own, the last one too", () => {
    const roles = messagesOf(PLAIN_DIALECT, [...batch.slice(0, 5), call("c3"), batch[3]!]).map(
      ({ role }: { role: string }) => role,
    );
    expect(roles.slice(3)).toEqual(["tool", "tool", "user", "assistant", "tool", "user"]);
  });

  it("stay where they are where the vendor takes them", () => {
    const [, , , first, second] = messagesOf(MISTRAL_DIALECT, batch);
    expect(first.content).toEqual([{ type: "text", text: "one" }, PICTURE_ON_THE_WIRE]);
    expect(second.content).toEqual([
      PICTURE_ON_THE_WIRE,
      {
        type: "document_url",
        document_url: "data:application/pdf;base64,JVBERi0=",
        document_name: "a.pdf",
      },
    ]);
  });
});

describe("documents and sound", () => {
  const far: DocumentPart = {
    type: "document",
    source: { kind: "url", url: "https://a.example/b.pdf" },
    at: "messages[0].content[0]",
  };

  it("by their address go to a vendor that fetches them; others refuse and name the place", () => {
    const messages: ChatMessage[] = [{ role: "user", content: [far] }];
    expect(messagesOf(MISTRAL_DIALECT, messages)[0].content).toEqual([
      { type: "document_url", document_url: "https://a.example/b.pdf" },
    ]);
    const refused = expect.objectContaining({
      code: "unsupported_parameter",
      param: "messages[0].content[0]",
    });
    expect(() => build(OPENAI_DIALECT, { messages })).toThrow(ServiceError);
    expect(() => build(OPENAI_DIALECT, { messages })).toThrow(refused);
  });

  it("are told in the vendor's own way", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: [{ type: "audio", data: "BBBB", format: "wav" }] },
    ];
    expect(messagesOf(OPENAI_DIALECT, messages)[0].content).toEqual([
      { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
    ]);
    expect(messagesOf(MISTRAL_DIALECT, messages)[0].content).toEqual([
      { type: "input_audio", input_audio: "BBBB" },
    ]);
  });
});

describe("ids of calls", () => {
  const ids = (dialect: Dialect, id: string): string[] => {
    const result: ChatMessage = { role: "tool", callId: id, content: [text("x")] };
    const [, asked, told] = messagesOf(dialect, [user("a"), call(id), result, user("b")]);
    expect(asked.tool_calls[0].function.arguments).toBe(' {"a" : 1e2} ');
    return [asked.tool_calls[0].id, told.tool_call_id];
  };
  const LONG = `call_${"x".repeat(60)}`;

  it("are nine letters and digits for Mistral, the same on both sides and every time", () => {
    const made = ["call_1", "toolu_01ABC", "gSIMJiOkTx", "", LONG, "fünf-neun"].map((id) => {
      const [asked, told] = ids(MISTRAL_DIALECT, id);
      expect(asked).toMatch(/^[A-Za-z0-9]{9}$/);
      expect(told).toBe(asked);
      expect(ids(MISTRAL_DIALECT, id)).toEqual([asked, told]);
      return asked;
    });
    expect(new Set(made).size).toBe(made.length);
    expect(ids(MISTRAL_DIALECT, "gSIMJiOkT")).toEqual(["gSIMJiOkT", "gSIMJiOkT"]);
  });

  it("are short enough for OpenAI and else untouched", () => {
    expect(ids(OPENAI_DIALECT, "call_1")).toEqual(["call_1", "call_1"]);
    const [asked, told] = ids(OPENAI_DIALECT, LONG);
    expect(asked).toMatch(/^[A-Za-z0-9]{24}$/);
    expect(told).toBe(asked);
    expect(ids(PLAIN_DIALECT, LONG)).toEqual([LONG, LONG]);
  });
});

describe("the turns of a strict vendor", () => {
  const turns = (messages: readonly ChatMessage[]): string[] =>
    messagesOf(MISTRAL_DIALECT, messages).map(
      ({ role, content, prefix }: { role: string; content: unknown; prefix?: boolean }) =>
        `${role}${prefix === true ? " prefix" : ""}: ${content}`,
    );
  const result: ChatMessage = { role: "tool", callId: "gSIMJiOkT", content: [text("1")] };

  it.each([
    [
      [user("a"), assistant("b")],
      ["user: a", "assistant prefix: b"],
    ],
    [
      [user("a"), assistant("b"), user("c")],
      ["user: a", "assistant: b", "user: c"],
    ],
    [
      [call("gSIMJiOkT"), result, result, user("a")],
      ["assistant: null", "tool: 1", "tool: 1", "assistant: OK.", "user: a"],
    ],
    [
      [call("gSIMJiOkT"), result, system("a")],
      ["assistant: null", "tool: 1", "assistant: OK.", "user: a"],
    ],
    [
      [user("a"), system("b"), user("c")],
      ["user: a", "system: b", "user: c"],
    ],
    [
      [user("a"), assistant("b"), system("c")],
      ["user: a", "assistant: b", "user: c"],
    ],
    [
      [user("a"), { role: "assistant", content: [{ type: "reasoning", text: "Hm" }] }, user("b")],
      ["user: a", "user: b"],
    ],
  ] as [ChatMessage[], string[]][])("%j", (messages, expected) => {
    expect(turns(messages)).toEqual(expected);
  });
});
