import { describe, expect, it } from "vitest";
import {
  chatCompletionChunkSchema,
  chatCompletionSchema,
  errorSchema,
} from "../../../src/codecs/chat-completions/server/wire.ts";
import { chatCompletionsServer } from "../../../src/codecs/chat-completions/server.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { foldEvents } from "../../../src/core/chat/fold-events.ts";
import { ServiceError } from "../../../src/core/service-error.ts";

const CONTEXT = { requestId: "req_1", model: 'a"b', created: 1760000000 };
const FORM: { includeUsage: boolean; isEmpty?: boolean } = { includeUsage: false };
const HEAD = {
  id: "chatcmpl-req_1",
  object: "chat.completion.chunk",
  created: 1760000000,
  model: 'a"b',
};
const LOGPROBS = { content: [{ token: "a" }], refusal: null };
const SOURCE = {
  index: 1,
  vector_store_id: "vs_1",
  file_id: "file-1",
  filename: "a.md",
  text: "A",
  score: 0.5,
  cited: true,
};
const USAGE = { inputTokens: 9, outputTokens: 3, cachedTokens: 4, reasoningTokens: 1 };
const WIRE_USAGE = {
  prompt_tokens: 9,
  completion_tokens: 3,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 1 },
};

const EVENTS: readonly ChatEvent[] = [
  { type: "start", extra: { system_fingerprint: "fp", id: "theirs", model: "theirs" } },
  { type: "block-start", block: 0, kind: "reasoning" },
  { type: "reasoning-delta", block: 0, text: "Hm\n" },
  { type: "signature", block: 0, signature: "seal" },
  { type: "block-end", block: 0 },
  { type: "block-start", block: 1, kind: "text" },
  { type: "text-delta", block: 1, text: '"A"\u2028' },
  { type: "text-delta", block: 1, text: "a", extra: { logprobs: LOGPROBS, token_ids: [1] } },
  { type: "text-delta", block: 1, text: "b", extra: { logprobs: LOGPROBS, token_ids: [2] } },
  { type: "block-end", block: 1 },
  { type: "source", source: SOURCE },
  { type: "tool-call-start", block: 2, callId: "c1", name: "f" },
  { type: "tool-call-start", block: 3, callId: "c2", name: "g" },
  { type: "tool-call-delta", block: 3, arguments: "{" },
  { type: "tool-call-delta", block: 2, arguments: '{"a":"\\n"}' },
  { type: "tool-call-delta", block: 3, arguments: "}" },
  { type: "block-end", block: 2 },
  { type: "block-end", block: 3 },
  {
    type: "finish",
    reason: "tool-calls",
    usage: USAGE,
    extra: { stop_reason: 5, message: { annotations: [] } },
  },
];

function encode(events: readonly ChatEvent[], includeUsage = false, size = events.length): string {
  const encoder = chatCompletionsServer.streamEncoder(CONTEXT, { includeUsage });
  let text = "";
  for (let at = 0; at < events.length; at += size)
    text += encoder.encode(events.slice(at, at + size));
  return text;
}

/** The chunks of a stream that ends with [DONE]. */
function chunksOf(text: string): Record<string, unknown>[] {
  const frames = text.split("\n\n");
  expect(frames.splice(-2)).toEqual(["data: [DONE]", ""]);
  return frames.map((frame) => {
    expect(frame).toMatch(/^data: \{[^\n]*\}$/);
    return JSON.parse(frame.slice("data: ".length));
  });
}

const choice = (delta: object, rest: object = {}) => ({
  ...HEAD,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...rest }],
});

describe("a stream", () => {
  it("is chunks of one id, with the role first, calls named once and the reason last", () => {
    expect(chunksOf(encode(EVENTS))).toEqual([
      { ...choice({ role: "assistant", content: "" }), system_fingerprint: "fp" },
      choice({ reasoning_content: "Hm\n" }),
      choice({ content: '"A"\u2028' }),
      choice({ content: "a" }, { logprobs: LOGPROBS, token_ids: [1] }),
      choice({ content: "b" }, { logprobs: LOGPROBS, token_ids: [2] }),
      choice({
        tool_calls: [
          { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "" } },
        ],
      }),
      choice({
        tool_calls: [
          { index: 1, id: "c2", type: "function", function: { name: "g", arguments: "" } },
        ],
      }),
      choice({ tool_calls: [{ index: 1, function: { arguments: "{" } }] }),
      choice({ tool_calls: [{ index: 0, function: { arguments: '{"a":"\\n"}' } }] }),
      choice({ tool_calls: [{ index: 1, function: { arguments: "}" } }] }),
      {
        ...choice({ annotations: [] }, { finish_reason: "tool_calls", stop_reason: 5 }),
        ext: { sources: [SOURCE] },
      },
    ]);
  });

  it("tells usage only to a client that asked, in a chunk of its own", () => {
    expect(encode(EVENTS)).not.toContain("usage");
    const chunks = chunksOf(encode(EVENTS, true));
    expect(chunks.pop()).toEqual({ ...HEAD, choices: [], usage: WIRE_USAGE });
    expect(chunks.length).toBe(11);
    for (const chunk of chunks) expect(chunk["usage"]).toBeNull();
  });

  it("is the same however its events are batched", () => {
    for (const size of [1, 2, 5]) expect(encode(EVENTS, true, size)).toBe(encode(EVENTS, true));
  });

  it("has the form that the document describes", () => {
    for (const chunk of chunksOf(encode(EVENTS, true))) {
      expect(chatCompletionChunkSchema.safeParse(chunk).error).toBeUndefined();
    }
  });

  it("ends after an error with the error and [DONE], and nothing after that", () => {
    const error = new ServiceError("upstream_timeout", "Too slow.");
    const encoder = chatCompletionsServer.streamEncoder(CONTEXT, FORM);
    const chunks = chunksOf(encoder.encode([...EVENTS.slice(0, 3), { type: "error", error }]));
    expect(chunks.at(-1)).toEqual({
      error: { message: "Too slow.", type: "api_error", param: null, code: "upstream_timeout" },
    });
    expect(encoder.encode([{ type: "error", error }])).toBe("");
    const alone = chatCompletionsServer.streamEncoder(CONTEXT, FORM);
    expect(chunksOf(alone.encode([{ type: "error", error }]))).toHaveLength(1);
  });

  it("has every member of logprobs, whatever the engine leaves out", () => {
    const content = [{ token: "a" }];
    const extra = { logprobs: { content } };
    const [chunk] = chunksOf(
      encode([
        { type: "text-delta", block: 0, text: "a", extra },
        { type: "finish", reason: "stop" },
      ]),
    );
    expect(chunk).toEqual(choice({ content: "a" }, { logprobs: { content, refusal: null } }));
  });

  it("says nothing and ends by its limit when the client allows no token", () => {
    const form = { includeUsage: true, isEmpty: true };
    const chunks = chunksOf(chatCompletionsServer.streamEncoder(CONTEXT, form).encode(EVENTS));
    expect(chunks.slice(1)).toMatchObject([
      { choices: [{ delta: {}, finish_reason: "length" }], ext: { sources: [SOURCE] } },
      { choices: [], usage: WIRE_USAGE },
    ]);
    expect(JSON.stringify(chunks)).not.toMatch(/Hm|tool_calls|token_ids/);
  });

  it("is kept alive by a comment", () => {
    expect(chatCompletionsServer.keepalive).toBe(": keepalive\n\n");
  });

  it.each([
    ["stop", "stop"],
    ["stop-sequence", "stop"],
    ["length", "length"],
    ["context-full", "length"],
    ["content-filter", "content_filter"],
    ["paused", "stop"],
  ] as const)("says %s as %s", (reason, word) => {
    const [chunk] = chunksOf(encode([{ type: "start" }, { type: "finish", reason }])).slice(-1);
    expect(chunk).toEqual(choice({}, { finish_reason: word }));
  });
});

describe("a whole answer", () => {
  const encodeWhole = async (events: readonly ChatEvent[], form = FORM) => {
    const answer = await foldEvents(
      (async function* () {
        yield events;
      })(),
    );
    return JSON.parse(chatCompletionsServer.encodeAnswer(answer, CONTEXT, form));
  };

  it("says nothing and ends by its limit when the client allows no token", async () => {
    const body = await encodeWhole(EVENTS, { includeUsage: false, isEmpty: true });
    expect(body.choices).toEqual([
      {
        index: 0,
        message: { role: "assistant", content: "", refusal: null },
        logprobs: null,
        finish_reason: "length",
      },
    ]);
    expect(body.usage).toEqual(WIRE_USAGE);
  });

  it("has every member of logprobs, whatever the engine leaves out", async () => {
    const content = [{ token: "a" }];
    const extra = { logprobs: { content } };
    const body = await encodeWhole([
      { type: "start" },
      { type: "block-start", block: 0, kind: "text" },
      { type: "text-delta", block: 0, text: "a", extra },
      { type: "block-end", block: 0 },
      { type: "finish", reason: "stop" },
    ]);
    expect(body.choices[0].logprobs).toEqual({ content, refusal: null });
  });

  it("says the same as its stream", async () => {
    const body = await encodeWhole(EVENTS);
    expect(body).toEqual({
      ...HEAD,
      object: "chat.completion",
      system_fingerprint: "fp",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: '"A"\u2028ab',
            refusal: null,
            reasoning_content: "Hm\n",
            annotations: [],
            tool_calls: [
              { id: "c1", type: "function", function: { name: "f", arguments: '{"a":"\\n"}' } },
              { id: "c2", type: "function", function: { name: "g", arguments: "{}" } },
            ],
          },
          logprobs: { content: [{ token: "a" }, { token: "a" }], refusal: null },
          token_ids: [1, 2],
          stop_reason: 5,
          finish_reason: "tool_calls",
        },
      ],
      usage: WIRE_USAGE,
      ext: { sources: [SOURCE] },
    });
    expect(chatCompletionSchema.safeParse(body).error).toBeUndefined();
  });

  it("says nothing of a thought that is sealed and has no words", async () => {
    const events: readonly ChatEvent[] = [
      { type: "start" },
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "reasoning-delta", block: 0, text: "" },
      { type: "signature", block: 0, redacted: "openai.rs_1:x" },
      { type: "block-end", block: 0 },
      { type: "block-start", block: 1, kind: "refusal" },
      { type: "refusal-delta", block: 1, text: "No." },
      { type: "block-end", block: 1 },
      { type: "finish", reason: "stop" },
    ];
    const { choices } = await encodeWhole(events);
    expect(choices[0].message).toEqual({ role: "assistant", content: null, refusal: "No." });
    expect(chunksOf(encode(events))).toEqual([
      choice({ role: "assistant", content: "" }),
      choice({ refusal: "No." }),
      choice({}, { finish_reason: "stop" }),
    ]);
  });

  it("has all keys that clients need even when there is nothing to say", async () => {
    const body = await encodeWhole([{ type: "start" }, { type: "finish", reason: "length" }]);
    expect(body).toEqual({
      ...HEAD,
      object: "chat.completion",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, refusal: null },
          logprobs: null,
          finish_reason: "length",
        },
      ],
    });
  });
});

describe("an error", () => {
  it("has all four keys, always", () => {
    const error = new ServiceError("invalid_value", "No.", { param: "messages[0]" });
    const body = chatCompletionsServer.encodeError(error, "req_1");
    expect(body).toEqual({
      error: {
        message: "No.",
        type: "invalid_request_error",
        param: "messages[0]",
        code: "invalid_value",
      },
    });
    expect(errorSchema.safeParse(body).error).toBeUndefined();
    const bare = chatCompletionsServer.encodeError(
      new ServiceError("overloaded", "Busy."),
      "req_1",
    );
    expect(bare).toEqual({
      error: { message: "Busy.", type: "overloaded_error", param: null, code: "overloaded" },
    });
  });
});

describe("A call without arguments", () => {
  const answerOf = (reason: "tool-calls" | "length"): readonly ChatEvent[] => [
    { type: "start" },
    { type: "tool-call-start", block: 0, callId: "c1", name: "now" },
    { type: "tool-call-start", block: 1, callId: "c2", name: "look" },
    { type: "tool-call-delta", block: 1, arguments: '{"at":1}' },
    { type: "block-end", block: 0 },
    { type: "block-end", block: 1 },
    { type: "finish", reason },
  ];
  const whole = async (events: readonly ChatEvent[]) => {
    const answer = await foldEvents(
      (async function* () {
        yield events;
      })(),
    );
    const body = JSON.parse(chatCompletionsServer.encodeAnswer(answer, CONTEXT, FORM));
    const { choices } = chatCompletionSchema.parse(body);
    return choices[0]?.message.tool_calls?.map((call) => call.function.arguments);
  };
  const streamed = async (events: readonly ChatEvent[]) => {
    const texts = ["", ""];
    for (const body of chunksOf(encode(events))) {
      const { choices } = chatCompletionChunkSchema.parse(body);
      for (const call of choices[0]?.delta.tool_calls ?? []) {
        texts[call.index] += call.function?.arguments ?? "";
      }
    }
    return texts;
  };

  it("has an empty object, because clients parse it", async () => {
    for (const read of [whole, streamed]) {
      expect(await read(answerOf("tool-calls"))).toEqual(["{}", '{"at":1}']);
    }
  });

  it("stays without where a limit ended the answer", async () => {
    for (const read of [whole, streamed]) {
      expect(await read(answerOf("length"))).toEqual(["", '{"at":1}']);
    }
  });
});
