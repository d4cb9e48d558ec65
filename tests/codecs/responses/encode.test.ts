import { describe, expect, it } from "vitest";
import { sealThought } from "../../../src/codecs/responses/server/items/reasoning-seal.ts";
import { responseSchema } from "../../../src/codecs/responses/server/wire-response.ts";
import { responsesServer } from "../../../src/codecs/responses/server.ts";
import type { ChatEvent, FinishReason } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import { readPublishedSchemas } from "./published-schemas.ts";
import { readResponseEvents } from "./read-response-events.ts";
import { CONTEXT, QUESTION, type Question } from "./relay-stream.ts";

const SOURCE = {
  index: 1,
  vector_store_id: "vs_1",
  file_id: "file-1",
  filename: "a.md",
  text: "A",
  score: 0.5,
  cited: true,
};
const USAGE = {
  inputTokens: 9,
  outputTokens: 3,
  cachedTokens: 4,
  cacheWriteTokens: 2,
  reasoningTokens: 1,
};

/** A thought of two kinds, text, a refusal, a call of each kind. */
const EVENTS: readonly ChatEvent[] = [
  { type: "start", inputTokens: 9, extra: { system_fingerprint: "fp" } },
  { type: "block-start", block: 0, kind: "reasoning" },
  { type: "reasoning-delta", block: 0, text: "Hm" },
  { type: "signature", block: 0, signature: "seal" },
  { type: "block-end", block: 0 },
  { type: "block-start", block: 1, kind: "reasoning" },
  { type: "signature", block: 1, redacted: "openai.secret" },
  { type: "block-end", block: 1 },
  { type: "block-start", block: 2, kind: "text" },
  { type: "text-delta", block: 2, text: '"A"' },
  { type: "block-end", block: 2 },
  { type: "block-start", block: 3, kind: "text" },
  { type: "block-end", block: 3 },
  { type: "block-start", block: 4, kind: "refusal" },
  { type: "refusal-delta", block: 4, text: "No." },
  { type: "block-end", block: 4 },
  { type: "source", source: SOURCE },
  { type: "tool-call-start", block: 5, callId: "c1", name: "f", signature: "gemini.x" },
  { type: "tool-call-delta", block: 5, arguments: "{}" },
  { type: "tool-call-start", block: 6, callId: "c2", name: "patch" },
  { type: "tool-call-delta", block: 6, arguments: '{"input":"a\\n"}' },
  { type: "block-end", block: 5 },
  { type: "tool-call-start", block: 7, callId: "c3", name: "agents__spawn" },
  { type: "block-end", block: 6 },
  { type: "block-end", block: 7 },
  { type: "finish", reason: "tool-calls", usage: USAGE },
];

const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const OUTPUT = [
  {
    id: "rs_req_1_0",
    type: "reasoning",
    summary: [{ type: "summary_text", text: "Hm" }],
    encrypted_content: sealThought({ text: "Hm", signature: "seal" }),
  },
  {
    id: "rs_req_1_1",
    type: "reasoning",
    summary: [],
    encrypted_content: sealThought({ text: "", redacted: "openai.secret" }),
  },
  {
    id: "msg_req_1_2",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [textPart('"A"'), textPart(""), { type: "refusal", refusal: "No." }],
  },
  {
    id: "fc_req_1_3",
    type: "function_call",
    status: "completed",
    call_id: "c1",
    name: "f",
    arguments: "{}",
  },
  {
    id: "ctc_req_1_4",
    type: "custom_tool_call",
    status: "completed",
    call_id: "c2",
    name: "patch",
    input: "a\n",
  },
  {
    id: "fc_req_1_5",
    type: "function_call",
    status: "completed",
    call_id: "c3",
    name: "spawn",
    namespace: "agents",
    arguments: "{}",
  },
];

const RESPONSE = {
  id: "resp_req_1",
  object: "response",
  created_at: 1760000000,
  completed_at: 1760000005,
  status: "completed",
  incomplete_details: null,
  error: null,
  model: 'a"b',
  output: OUTPUT,
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: 12,
  },
  ext: { sources: [SOURCE] },
  ...responsesServer.parse(QUESTION, "").form.repeated,
};

function streamOf(
  events: readonly ChatEvent[],
  question: Question = QUESTION,
  size = events.length,
): string {
  const { form } = responsesServer.parse(question, "");
  const encoder = responsesServer.streamEncoder(CONTEXT, form);
  let text = "";
  for (let at = 0; at < events.length; at += size)
    text += encoder.encode(events.slice(at, at + size));
  return text;
}

async function wholeOf(events: readonly ChatEvent[], question: Question = QUESTION) {
  const answer = await foldEvents(
    (async function* () {
      yield events;
    })(),
  );
  const { form } = responsesServer.parse(question, "");
  return JSON.parse(responsesServer.encodeAnswer(answer, CONTEXT, form));
}

const said = (reason: FinishReason): readonly ChatEvent[] => [
  ...EVENTS.slice(0, 11),
  { type: "finish", reason },
];

describe("an answer", () => {
  it("is one item for each thought, for what was said in a row, and for each call", async () => {
    expect(await wholeOf(EVENTS)).toEqual(RESPONSE);
    expect(readResponseEvents(streamOf(EVENTS)).last.response).toEqual(RESPONSE);
    expect(responseSchema.safeParse(RESPONSE).error).toBeUndefined();
  });

  it.each(readPublishedSchemas())("is valid by the definition of $name", async (schemas) => {
    const tools = schemas.name === "OpenAI" ? QUESTION.tools : QUESTION.tools.slice(0, 1);
    const text = { format: { type: "json_object" }, verbosity: "low" };
    const question = { ...QUESTION, tools, text, reasoning: { effort: "low", summary: "auto" } };
    // Open Responses knows neither custom tools nor namespaces.
    const events = EVENTS.filter((event) => !("block" in event) || event.block < 6);
    expect(schemas.findFaultOfResponse(await wholeOf(events, question))).toBeUndefined();
    const bare = await wholeOf([{ type: "start" }, { type: "finish", reason: "length" }]);
    expect(schemas.findFaultOfResponse({ ...bare, tools: [] })).toBeUndefined();
  });

  it("is the same stream however its events are batched", () => {
    for (const size of [1, 2, 5]) expect(streamOf(EVENTS, QUESTION, size)).toBe(streamOf(EVENTS));
  });

  it("has the seal of every thought when the client asked for it, else where a vendor sealed", () => {
    const thought = [EVENTS[0], EVENTS[1], EVENTS[2], EVENTS[4], EVENTS.at(-1)] as ChatEvent[];
    const include = ["reasoning.encrypted_content"];
    const outputOf = (question: Question) =>
      readResponseEvents(streamOf(thought, question)).last.response.output[0];
    expect(outputOf({ ...QUESTION, include })).toMatchObject({
      encrypted_content: sealThought({ text: "Hm" }),
    });
    expect(outputOf(QUESTION)).not.toHaveProperty("encrypted_content");
  });

  it("has log probabilities in the format's own form, with bytes that the engine left out", async () => {
    const choice = { token: "é", logprob: -1 };
    const logprobs = { content: [{ ...choice, bytes: null, top_logprobs: [choice] }] };
    const events = EVENTS.slice(0, 11).map((event) =>
      event.type === "text-delta" ? { ...event, extra: { logprobs } } : event,
    );
    const bytes = [195, 169];
    const expected = [{ ...choice, bytes, top_logprobs: [{ ...choice, bytes }] }];
    const done: readonly ChatEvent[] = [...events, { type: "finish", reason: "stop" }];
    expect((await wholeOf(done)).output[2].content[0].logprobs).toEqual(expected);
    const deltas = readResponseEvents(streamOf(done)).events.filter(
      ({ type }) => type === "response.output_text.delta",
    );
    expect(deltas).toMatchObject([{ logprobs: expected }]);
    // Of a whole answer some engines tell them beside it.
    const beside: readonly ChatEvent[] = [
      ...EVENTS.slice(0, 11),
      { type: "finish", reason: "stop", extra: { logprobs } },
    ];
    expect((await wholeOf(beside)).output[2].content[0].logprobs).toEqual(expected);
  });

  it("that a client sends back becomes the thought that the vendor sealed", () => {
    const { messages } = responsesServer.parse({ input: [...OUTPUT] }, "").request;
    expect(messages[0]).toMatchObject({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm", signature: "seal" },
        { type: "reasoning", text: "", redacted: "openai.secret" },
        { type: "text", text: '"A"' },
        { type: "text", text: "" },
        { type: "refusal", text: "No." },
        { type: "tool-call", callId: "c1", name: "f", arguments: "{}" },
        { type: "tool-call", callId: "c2", name: "patch", arguments: '{"input":"a\\n"}' },
        { type: "tool-call", callId: "c3", name: "agents__spawn", arguments: "{}" },
      ],
    });
  });

  it.each([
    ["stop", "completed", null],
    ["stop-sequence", "completed", null],
    ["paused", "completed", null],
    ["length", "incomplete", { reason: "max_output_tokens" }],
    ["context-full", "incomplete", { reason: "max_output_tokens" }],
    ["content-filter", "incomplete", { reason: "content_filter" }],
  ] as const)("that ends with %s is %s", async (reason, status, incomplete_details) => {
    const expected = {
      status,
      incomplete_details,
      completed_at: status === "completed" ? 1760000005 : null,
      output: [OUTPUT[0], OUTPUT[1], { ...OUTPUT[2], status, content: [textPart('"A"')] }],
      usage: null,
    };
    expect(await wholeOf(said(reason))).toMatchObject(expected);
    const { last } = readResponseEvents(streamOf(said(reason)));
    expect(last.type).toBe(`response.${status}`);
    expect(last.response).toMatchObject(expected);
  });

  it("cut in parallel calls is incomplete in the last of them", () => {
    const calls: readonly ChatEvent[] = [
      { type: "start" },
      { type: "tool-call-start", block: 0, callId: "a", name: "f" },
      { type: "tool-call-start", block: 1, callId: "b", name: "f" },
      { type: "tool-call-delta", block: 1, arguments: "{" },
      { type: "block-end", block: 0 },
      { type: "block-end", block: 1 },
      { type: "finish", reason: "length" },
    ];
    const { output } = readResponseEvents(streamOf(calls)).last.response;
    expect(output).toMatchObject([{ status: "completed" }, { status: "incomplete" }]);
  });
});

describe("a stream that fails", () => {
  const failing = (
    code: ConstructorParameters<typeof ServiceError>[0],
    from = EVENTS.slice(0, 10),
  ) => streamOf([...from, { type: "error", error: new ServiceError(code, "Why.") }]);

  it.each([
    ["upstream_error", "server_error"],
    ["upstream_timeout", "server_error"],
    ["overloaded", "server_error"],
    ["internal_error", "server_error"],
    ["rate_limit_exceeded", "rate_limit_exceeded"],
    ["token_limit_exceeded", "rate_limit_exceeded"],
    ["context_length_exceeded", "context_length_exceeded"],
    ["invalid_value", "invalid_prompt"],
  ] as const)("because of %s says %s", (code, told) => {
    const { last } = readResponseEvents(failing(code));
    expect(last.type).toBe("response.failed");
    expect(last.response).toMatchObject({
      status: "failed",
      error: { code: told, message: "Why." },
      completed_at: null,
      usage: null,
    });
  });

  it("finishes no item that was under way, and says nothing more", () => {
    const { last, events } = readResponseEvents(failing("upstream_error"));
    expect(last.response.output).toEqual(OUTPUT.slice(0, 2));
    expect(events.filter(({ type }) => type === "response.output_item.done")).toHaveLength(2);
    const encoder = responsesServer.streamEncoder(
      CONTEXT,
      responsesServer.parse(QUESTION, "").form,
    );
    const error = new ServiceError("upstream_error", "Why.");
    encoder.encode([...EVENTS]);
    expect(encoder.encode([{ type: "error", error }])).toBe("");
  });

  it("finishes the items that had ended before", () => {
    const { last } = readResponseEvents(failing("upstream_error", EVENTS.slice(0, 11)));
    expect(last.response.output).toMatchObject([{}, {}, { type: "message", status: "completed" }]);
    const afterCall = EVENTS.filter((event) => event !== EVENTS.at(-1));
    expect(readResponseEvents(failing("overloaded", afterCall)).last.response.output).toEqual(
      OUTPUT,
    );
  });

  it("before its first event begins all the same", () => {
    const { events } = readResponseEvents(failing("overloaded", []));
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.failed",
    ]);
  });
});

describe("the rest", () => {
  it("is kept alive by a comment", () => {
    expect(responsesServer.keepalive).toBe(": keepalive\n\n");
  });

  it("says errors in the chat form", () => {
    const error = new ServiceError("invalid_value", "No.", { param: "input[0]" });
    expect(responsesServer.encodeError(error, "req_1")).toEqual({
      error: {
        message: "No.",
        type: "invalid_request_error",
        param: "input[0]",
        code: "invalid_value",
      },
    });
  });
});
