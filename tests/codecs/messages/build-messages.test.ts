import { describe, expect, it } from "vitest";
import { messagesClient } from "../../../src/codecs/messages/client.ts";
import type {
  AssistantPart,
  ChatMessage,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolMessage,
  UserPart,
} from "../../../src/core/chat/chat-request.ts";

const text = (words: string): TextPart => ({ type: "text", text: words });
const block = (words: string) => ({ type: "text", text: words });
const system = (words: string): ChatMessage => ({ role: "system", content: [text(words)] });
const user = (...content: readonly UserPart[]): ChatMessage => ({ role: "user", content });
const assistant = (...content: readonly AssistantPart[]): ChatMessage => ({
  role: "assistant",
  content,
});
const call = (callId: string, args = "{}"): AssistantPart => ({
  type: "tool-call",
  callId,
  name: "f",
  arguments: args,
});
const result = (callId: string, ...content: ToolMessage["content"]): ChatMessage => ({
  role: "tool",
  callId,
  content,
});

function buildText(...messages: readonly ChatMessage[]): string {
  const request = { model: "m", messages, tools: [], parameters: {}, stream: false };
  return messagesClient.build(request, { name: "served", contextLength: undefined });
}

const build = (...messages: readonly ChatMessage[]) => JSON.parse(buildText(...messages));
const turns = (...messages: readonly ChatMessage[]) => build(...messages).messages;
const toolUse = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input });
const toolResult = (id: string, ...content: readonly object[]) => ({
  type: "tool_result",
  tool_use_id: id,
  content,
});
const BROKEN_OFF = {
  is_error: true,
  content: [block("There is no result: the call was broken off.")],
};

describe("what the system says", () => {
  it("at the beginning has its own place", () => {
    const body = build(system("A"), system("B"), user(text("Hi")));
    expect(body.system).toEqual([block("A"), block("B")]);
    expect(body.messages).toHaveLength(1);
  });

  it("later is told by the user, after the results of calls", () => {
    expect(
      turns(
        user(text("Hi")),
        assistant(call("c1"), call("c2")),
        result("c1", text("1")),
        system("Be brief."),
        result("c2", text("2")),
      )[2],
    ).toEqual({
      role: "user",
      content: [
        toolResult("c1", block("1")),
        toolResult("c2", block("2")),
        block("<system>\nBe brief.\n</system>"),
      ],
    });
  });

  it("later is told as such to a model that takes it, after all that the user says there", () => {
    const messages = [
      system("A"),
      user(text("Hi")),
      assistant(call("c1")),
      result("c1", text("1")),
      system("Be brief."),
      user(text("Go on.")),
      system("Be kind."),
      assistant(text("Well.")),
      system("Nobody asked."),
    ];
    const request = { model: "m", messages, tools: [], parameters: {}, stream: false };
    const model = { name: "served", contextLength: undefined, midSystem: true };
    const body = JSON.parse(messagesClient.build(request, model));
    expect(body.system).toEqual([block("A")]);
    expect(body.messages.slice(2)).toEqual([
      { role: "user", content: [toolResult("c1", block("1")), block("Go on.")] },
      { role: "system", content: [block("Be brief."), block("Be kind.")] },
      { role: "assistant", content: [block("Well.")] },
      { role: "user", content: [block("<system>\nNobody asked.\n</system>")] },
    ]);
  });

  it("alone is told by the user too", () => {
    const body = build(system("A"), system("B"));
    expect(body.system).toEqual([block("A")]);
    expect(body.messages).toEqual([{ role: "user", content: [block("<system>\nB\n</system>")] }]);
  });
});

describe("turns", () => {
  it("take turns, however the messages came", () => {
    expect(
      turns(user(text("a")), user(text("b")), assistant(text("c")), assistant(text("d"))),
    ).toEqual([
      { role: "user", content: [block("a"), block("b")] },
      { role: "assistant", content: [block("c"), block("d")] },
    ]);
  });

  it("begin with the user", () => {
    expect(turns(assistant(text("Hello")))[0]).toEqual({
      role: "user",
      content: [block("(empty message)")],
    });
  });

  it("have no blank text, and none is empty", () => {
    expect(
      turns(
        user(text(""), text("a"), text(" \n")),
        assistant(text("")),
        user(text("b")),
        assistant(text("c"), { type: "reasoning", text: "unsealed" }),
        user(text(" ")),
      ),
    ).toEqual([
      { role: "user", content: [block("a"), block("b")] },
      { role: "assistant", content: [block("c")] },
      { role: "user", content: [block("(empty message)")] },
    ]);
  });

  it("may end with the beginning of the answer, which is sent as it is", () => {
    expect(turns(user(text("Hi")), assistant(text("{ "))).at(-1)).toEqual({
      role: "assistant",
      content: [block("{ ")],
    });
  });

  it("tell a refusal as text", () => {
    expect(turns(user(text("Hi")), assistant({ type: "refusal", text: "No." }))[1]).toEqual({
      role: "assistant",
      content: [block("No.")],
    });
  });
});

describe("thoughts", () => {
  it("go back with the vendor's own seal, and no others", () => {
    expect(
      turns(
        user(text("Hi")),
        assistant(
          { type: "reasoning", text: "Mine.", signature: "c2ln" },
          { type: "reasoning", text: "", redacted: "c2VjcmV0" },
          { type: "reasoning", text: "", signature: "b21pdHRlZA" },
          { type: "reasoning", text: "Gemini's.", signature: "gemini.c2ln" },
          { type: "reasoning", text: "OpenAI's.", redacted: "openai.c2ln" },
          { type: "reasoning", text: "Ours.", signature: "gateway.c2ln" },
          { type: "reasoning", text: "Nobody's.", signature: "" },
          { type: "reasoning", text: "Nobody's." },
          text("Hello"),
        ),
      )[1].content,
    ).toEqual([
      { type: "thinking", thinking: "Mine.", signature: "c2ln" },
      { type: "redacted_thinking", data: "c2VjcmV0" },
      { type: "thinking", thinking: "", signature: "b21pdHRlZA" },
      block("Hello"),
    ]);
  });
});

describe("calls and results", () => {
  it("are paired in one turn, the results before any text", () => {
    expect(
      turns(
        user(text("Hi")),
        assistant(text("Wait."), call("c1", '{"a":1}'), call("c2")),
        user(text("Quick!")),
        result("c2", text("2")),
        result("c1", text("1")),
      ).slice(1),
    ).toEqual([
      { role: "assistant", content: [block("Wait."), toolUse("c1", { a: 1 }), toolUse("c2")] },
      {
        role: "user",
        content: [toolResult("c1", block("1")), toolResult("c2", block("2")), block("Quick!")],
      },
    ]);
  });

  it("get a result where the client broke the call off", () => {
    const before = turns(user(text("Hi")), assistant(call("c1")), user(text("Stop.")));
    expect(before[2].content).toEqual([
      { type: "tool_result", tool_use_id: "c1", ...BROKEN_OFF },
      block("Stop."),
    ]);
    const last = turns(user(text("Hi")), assistant(call("c1"), call("c2")), result("c2"));
    expect(last[2].content).toEqual([
      { type: "tool_result", tool_use_id: "c1", ...BROKEN_OFF },
      { type: "tool_result", tool_use_id: "c2" },
    ]);
    expect(turns(user(text("Hi")), assistant(call("c1")))).toHaveLength(3);
  });

  it("are told as text where the call is not in the turn before", () => {
    const orphan = "Result of the tool call c9, which is not in this conversation:";
    expect(turns(user(text("Hi")), result("c9", text("9")))).toEqual([
      { role: "user", content: [block("Hi"), block(orphan), block("9")] },
    ]);
    const twice = turns(
      user(text("Hi")),
      assistant(call("c9")),
      result("c9", text("1")),
      result("c9", text("2")),
    );
    expect(twice[2].content).toEqual([toolResult("c9", block("1")), block(orphan), block("2")]);
  });

  it("have ids of letters that the vendor takes, the same on both sides and never one twice", () => {
    const ids = ["functions.f:0", "functions_f_0", "ü", "", "same", "same"];
    const [, said, heard] = turns(
      user(text("Hi")),
      assistant(...ids.map((id) => call(id))),
      ...ids.map((id, index) => result(id, text(String(index)))),
    );
    const used = said.content.map(({ id }: { id: string }) => id);
    expect(new Set(used).size).toBe(ids.length);
    for (const id of used) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(heard.content).toEqual(
      used.map((id: string, index: number) => toolResult(id, block(String(index)))),
    );
  });

  it("keep ids apart that an engine used in two turns", () => {
    const turn = () => [assistant(call("call_0")), result("call_0", text("1"))];
    const all = turns(user(text("Hi")), ...turn(), ...turn());
    expect(all[3].content[0].id).not.toBe(all[1].content[0].id);
    expect(all[4].content[0].tool_use_id).toBe(all[3].content[0].id);
  });

  it.each([
    ['{"n":12345678901234567890, "s":"\\u00e9"}', '{"n":12345678901234567890, "s":"\\u00e9"}'],
    ["", "{}"],
    ["null", "{}"],
    ["[9007199254740993]", '{"value":[9007199254740993]}'],
    ['"text"', '{"value":"text"}'],
    ['{"a":', '{"value":"{\\"a\\":"}'],
  ])("have an object for arguments: %s", (args, input) => {
    expect(buildText(user(text("Hi")), assistant(call("c1", args)))).toContain(`"input":${input}}`);
  });

  it("tell an error, which must have words and nothing but words", () => {
    const image: ImagePart = { type: "image", source: { kind: "url", url: "https://x.test/a" } };
    const failed = (...content: ToolMessage["content"]) =>
      turns(user(text("Hi")), assistant(call("c1")), {
        role: "tool",
        callId: "c1",
        content,
        isError: true,
      })[2].content[0];
    expect(failed(text("Broken."))).toMatchObject({ is_error: true, content: [block("Broken.")] });
    expect(failed()).toMatchObject({ is_error: true, content: [{ type: "text" }] });
    expect(failed(image)).not.toHaveProperty("is_error");
  });
});

describe("pictures and documents", () => {
  const base64 = (mediaType: string, data = "QUJD") =>
    ({ kind: "base64", mediaType, data }) as const;
  const image = (mediaType: string): ImagePart => ({ type: "image", source: base64(mediaType) });
  const pdf: DocumentPart = {
    type: "document",
    source: base64("application/pdf"),
    title: "t".repeat(600),
  };
  const pdfBlock = {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "QUJD" },
    title: "t".repeat(500),
  };
  const pngBlock = {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: "QUJD" },
  };

  it("are sent as they are or by address, in messages and in results", () => {
    const url = (type: "image" | "document") =>
      ({ type, source: { kind: "url", url: "https://x.test/a" } }) as const;
    const urlBlock = (type: string) => ({ type, source: { type: "url", url: "https://x.test/a" } });
    const parts = [image("image/png"), url("image"), pdf, url("document")];
    const blocks = [pngBlock, urlBlock("image"), pdfBlock, urlBlock("document")];
    const all = turns(user(...parts), assistant(call("c1")), result("c1", ...parts));
    expect(all[0].content).toEqual(blocks);
    expect(all[2].content).toEqual([toolResult("c1", ...blocks)]);
  });

  it("have the names that the vendor knows", () => {
    expect(turns(user(image("image/jpg")))[0].content[0].source.media_type).toBe("image/jpeg");
  });

  it("are told as text when they are text", () => {
    const document = (data: string): DocumentPart => ({
      type: "document",
      source: base64("text/csv", data),
      at: "messages[0].content[1]",
    });
    expect(turns(user(document("w6k7MQ==")))[0].content[0].source).toEqual({
      type: "text",
      media_type: "text/plain",
      data: "é;1",
    });
    expect(() => turns(user(document("/w==")))).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "messages[0].content[1]" }),
    );
  });

  it("are seen but sound is not heard: the error names it", () => {
    const audio = { type: "audio", data: "QUJD", format: "wav", at: "messages[0].content[1]" };
    expect(() => turns(user(audio as UserPart))).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "messages[0].content[1]" }),
    );
  });
});
