import { describe, expect, it } from "vitest";
import { messagesClient } from "../../../src/codecs/messages/client.ts";
import { messagesServer } from "../../../src/codecs/messages/server.ts";
import type { AnswerBlock, ChatAnswer } from "../../../src/core/chat/chat-answer.ts";
import type { ChatEvent, FinishReason } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { readMessageStream } from "../../support/clients/message-stream.ts";
import { CONTEXT, PLAIN_FORM } from "./stream-upstreams.ts";

const USAGE = { inputTokens: 100, outputTokens: 20 };

function answer(blocks: readonly AnswerBlock[], finish: Partial<ChatAnswer["finish"]> = {}) {
  const ended = { reason: "stop" as const, usage: USAGE, ...finish };
  return { blocks, sources: [], toolRuns: [], finish: ended };
}

function encode(whole: ChatAnswer, form = PLAIN_FORM) {
  return JSON.parse(messagesServer.encodeAnswer(whole, CONTEXT, form));
}

function stream(events: readonly ChatEvent[], form = PLAIN_FORM) {
  return readMessageStream(messagesServer.streamEncoder(CONTEXT, form).encode(events));
}

async function* batchOf(events: readonly ChatEvent[]) {
  yield events;
}

const text = (said: string): AnswerBlock => ({ kind: "text", text: said, extras: [] });
const thought = (said: string, seal: object = {}): AnswerBlock => ({
  kind: "reasoning",
  text: said,
  extras: [],
  ...seal,
});
const call = (callId: string, input: string): AnswerBlock => ({
  kind: "tool-call",
  callId,
  name: "f",
  arguments: input,
});

describe("a whole messages answer", () => {
  it("has every field that the format demands", () => {
    expect(encode(answer([text("Hi")]))).toEqual({
      id: "msg_req_1",
      type: "message",
      role: "assistant",
      model: "sim-chat",
      content: [{ type: "text", text: "Hi", citations: null }],
      stop_reason: "end_turn",
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 100,
        output_tokens: 20,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: null,
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: "standard",
        inference_geo: null,
      },
    });
  });

  it("counts no token twice", () => {
    const usage = { ...USAGE, cachedTokens: 60, cacheWriteTokens: 10, reasoningTokens: 5 };
    expect(encode(answer([], { usage })).usage).toMatchObject({
      input_tokens: 30,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 10,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
    });
    const odd = { ...USAGE, cachedTokens: 101 };
    expect(encode(answer([], { usage: odd })).usage.input_tokens).toBe(0);
  });

  it("seals thoughts, with the vendor's seal where there is one", () => {
    expect(
      encode(
        answer([
          thought("Hm"),
          thought("Ha", { signature: "c2ln" }),
          thought("", { redacted: "b3BhcXVl" }),
          thought("Both", { redacted: "openai.x" }),
          thought(""),
        ]),
      ).content,
    ).toEqual([
      { type: "thinking", thinking: "Hm", signature: "gateway.req_1" },
      { type: "thinking", thinking: "Ha", signature: "c2ln" },
      { type: "redacted_thinking", data: "b3BhcXVl" },
      { type: "thinking", thinking: "Both", signature: "gateway.req_1" },
      { type: "redacted_thinking", data: "openai.x" },
    ]);
  });

  it("shows no words of thoughts to a client that wants none", () => {
    const form = { ...PLAIN_FORM, omitsThinking: true };
    expect(encode(answer([thought("Hm"), text("Hi")]), form).content[0]).toEqual({
      type: "thinking",
      thinking: "",
      signature: "gateway.req_1",
    });
  });

  it.each([
    ['{ "id":12345678901234567890 }', '{ "id":12345678901234567890 }'],
    ["", "{}"],
    ["null", "{}"],
    ['{"text":"half a', '{"value":"{\\"text\\":\\"half a"}'],
    ["[1]", '{"value":[1]}'],
  ])("writes the arguments %j as %s", (input, written) => {
    const body = messagesServer.encodeAnswer(answer([call("call_1", input)]), CONTEXT, PLAIN_FORM);
    expect(body).toContain(`"input":${written}}`);
    expect(JSON.parse(body).content[0]).toMatchObject({
      type: "tool_use",
      id: "call_1",
      name: "f",
    });
  });

  it.each(["functions.f:0", "call 1", "töol", "toolu_enc_YQ"])(
    "gives the call id %j in letters that clients take, and gets it back",
    (callId) => {
      const { content } = encode(answer([call(callId, "{}")]));
      expect(content[0].id).toMatch(/^[a-zA-Z0-9_-]+$/);
      const result = { type: "tool_result", tool_use_id: content[0].id, content: "x" };
      const body = {
        max_tokens: 1,
        messages: [
          { role: "assistant", content },
          { role: "user", content: [result] },
        ],
      };
      const { messages } = messagesServer.parse(body, JSON.stringify(body)).request;
      expect(messages).toMatchObject([{ content: [{ callId }] }, { callId }]);
    },
  );

  it.each([
    ["stop", "end_turn"],
    ["stop-sequence", "stop_sequence"],
    ["length", "max_tokens"],
    ["context-full", "model_context_window_exceeded"],
    ["tool-calls", "tool_use"],
    ["content-filter", "refusal"],
    ["paused", "pause_turn"],
  ] satisfies [FinishReason, string][])("says %s as %s", (reason, word) => {
    const { stop_reason, stop_sequence } = encode(answer([], { reason, stopSequence: "END" }));
    expect(stop_reason).toBe(word);
    expect(stop_sequence).toBe(reason === "stop-sequence" ? "END" : null);
  });

  it("says a refusal as text and why it stopped", () => {
    const refused = encode(answer([{ kind: "refusal", text: "No.", extras: [] }]));
    expect(refused).toMatchObject({
      content: [{ type: "text", text: "No." }],
      stop_reason: "refusal",
      stop_details: { type: "refusal" },
    });
  });

  it("keeps what Anthropic says of a refusal, whole and streamed", async () => {
    const details = { category: "cyber", explanation: "Not this." };
    const stop_details = { type: "refusal", ...details };
    const body = { content: [], stop_reason: "refusal", stop_details };
    const events = messagesClient.readAnswer(JSON.stringify(body));
    const frames = messagesServer.streamEncoder(CONTEXT, PLAIN_FORM).encode(events);
    expect(frames).toContain(`"stop_details":${JSON.stringify(stop_details)}`);
    const whole = await foldEvents(batchOf(events));
    expect(encode(whole)).toMatchObject({ stop_reason: "refusal", stop_details });
    const other = { ...body, stop_reason: "end_turn", stop_details: { type: "other" } };
    expect(messagesClient.readAnswer(JSON.stringify(other)).at(-1)).toMatchObject({
      refusal: undefined,
    });
  });

  it("names the sources it used", () => {
    const whole = { ...answer([text("Hi")]), sources: [{ title: "A" }] };
    expect(encode(whole).ext).toEqual({ sources: [{ title: "A" }] });
  });

  it("has no content where the prompt was only to be cached", () => {
    const form = { ...PLAIN_FORM, fillsCacheOnly: true };
    const filled = encode(answer([text("Hi")], { reason: "length" }), form);
    expect(filled).toMatchObject({ content: [], stop_reason: "max_tokens" });
  });
});

describe("the stream of a messages answer", () => {
  const start: ChatEvent = { type: "start", inputTokens: 90 };
  const finish: ChatEvent = { type: "finish", reason: "stop", usage: USAGE };
  const reasoning = (block: number): ChatEvent => ({
    type: "block-start",
    block,
    kind: "reasoning",
  });
  const end = (block: number): ChatEvent => ({ type: "block-end", block });
  const begin = (block: number): ChatEvent => ({
    type: "tool-call-start",
    block,
    callId: `call_${block}`,
    name: "f",
  });
  const piece = (block: number, said: string): ChatEvent => ({
    type: "tool-call-delta",
    block,
    arguments: said,
  });

  it("tells what is known of the prompt first, and the truth at the end", () => {
    const read = stream([start, finish]);
    expect(read.start).toMatchObject({
      id: "msg_req_1",
      model: "sim-chat",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 90, output_tokens: 0 },
    });
    expect(read.end).toMatchObject({ usage: { input_tokens: 100, output_tokens: 20 } });
  });

  it("brings sealed, encrypted and unsaid thoughts as blocks of their own", () => {
    const read = stream([
      start,
      reasoning(0),
      { type: "reasoning-delta", block: 0, text: "Hm" },
      { type: "signature", block: 0, signature: "one" },
      { type: "signature", block: 0, signature: "two" },
      end(0),
      reasoning(1),
      { type: "signature", block: 1, redacted: "b3BhcXVl" },
      end(1),
      reasoning(2),
      { type: "signature", block: 2, signature: "alone" },
      end(2),
      reasoning(3),
      end(3),
      finish,
    ]);
    expect(read.blocks.map(({ type, text: said, signature }) => [type, said, signature])).toEqual([
      ["thinking", "Hm", "two"],
      ["redacted_thinking", "", undefined],
      ["thinking", "", "alone"],
    ]);
    expect(read.blocks[1]?.start).toEqual({ type: "redacted_thinking", data: "b3BhcXVl" });
  });

  it("shows no words of thoughts to a client that wants none", () => {
    const events: ChatEvent[] = [
      start,
      reasoning(0),
      { type: "reasoning-delta", block: 0, text: "Hm" },
      { type: "reasoning-delta", block: 0, text: "mm" },
      end(0),
      finish,
    ];
    const [block, ...others] = stream(events, { ...PLAIN_FORM, omitsThinking: true }).blocks;
    expect(block).toMatchObject({ type: "thinking", text: "", signature: "gateway.req_1" });
    expect(others).toEqual([]);
  });

  it("ends calls that the engine left open, the waiting ones too", () => {
    const read = stream([start, begin(0), begin(1), begin(2), piece(2, "{}"), end(2), finish]);
    expect(read.blocks.map(({ start: { id }, input }) => [id, input])).toEqual([
      ["call_0", ""],
      ["call_1", ""],
      ["call_2", "{}"],
    ]);
  });

  it("writes calls that ended before their turn as soon as it comes, and what follows after them", () => {
    const read = stream([
      ...[
        start,
        begin(0),
        begin(1),
        begin(2),
        piece(1, "{}"),
        end(1),
        end(2),
        piece(0, "{}"),
        end(0),
      ],
      { type: "block-start", block: 3, kind: "text" },
      { type: "text-delta", block: 3, text: "Done." },
      end(3),
      finish,
    ]);
    expect(read.blocks.map(({ type, text: said, input }) => [type, said + input])).toEqual([
      ["tool_use", "{}"],
      ["tool_use", "{}"],
      ["tool_use", ""],
      ["text", "Done."],
    ]);
  });

  it("gives up an engine whose waiting calls outgrow all memory", () => {
    const long = "x".repeat(1024 * 1024);
    const encoder = messagesServer.streamEncoder(CONTEXT, PLAIN_FORM);
    let written = encoder.encode([start, begin(0), begin(1)]);
    for (let round = 0; round < 20; round++) written += encoder.encode([piece(1, long)]);
    expect(readMessageStream(written).error).toMatchObject({ type: "api_error" });
  });

  it("names the sources at the end", () => {
    const source: ChatEvent = { type: "source", source: { title: "A" } };
    expect(stream([start, source, finish]).end).toMatchObject({
      ext: { sources: [{ title: "A" }] },
    });
  });

  it("has no content where the prompt was only to be cached", () => {
    const events: ChatEvent[] = [
      start,
      { type: "block-start", block: 0, kind: "text" },
      { type: "text-delta", block: 0, text: "Hi" },
      end(0),
      finish,
    ];
    const read = stream(events, { ...PLAIN_FORM, fillsCacheOnly: true });
    expect(read.blocks).toEqual([]);
    expect(read.end).toMatchObject({ delta: { stop_reason: "max_tokens" } });
  });

  it("keeps a quiet client with a ping", () => {
    expect(messagesServer.keepalive).toBe('event: ping\ndata: {"type":"ping"}\n\n');
  });
});

describe("an error in the messages form", () => {
  const encoded = (error: ServiceError) => messagesServer.encodeError(error, "req_1");

  it("has its type, its words and the request's id", () => {
    expect(encoded(new ServiceError("overloaded", "Too much to do."))).toEqual({
      type: "error",
      error: { type: "overloaded_error", message: "Too much to do." },
      request_id: "req_1",
    });
  });

  it("names the field at fault in its words, once", () => {
    const details = { param: "messages[0].content[1]" };
    expect(encoded(new ServiceError("invalid_value", "No images.", details))).toMatchObject({
      error: { message: "messages[0].content[1]: No images." },
    });
    const named = new ServiceError("invalid_value", "'messages[0].content[1]' is wrong.", details);
    expect(encoded(named)).toMatchObject({ error: { message: named.message } });
  });

  it.each([
    [
      { promptTokens: 9_001, contextLength: 8_192 },
      "prompt is too long: 9001 tokens > 8192 maximum",
    ],
    [
      { promptTokens: undefined, contextLength: 8_192 },
      "prompt is too long: it does not fit the model's context",
    ],
  ])("says %j in the words that agents look for", (overflow, message) => {
    const error = new ServiceError("context_length_exceeded", "Too long.", {
      param: "messages",
      overflow,
    });
    expect(encoded(error)).toMatchObject({ error: { type: "invalid_request_error", message } });
  });
});
