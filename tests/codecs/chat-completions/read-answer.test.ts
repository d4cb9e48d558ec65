import { describe, expect, it } from "vitest";
import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import { readContextOverflow } from "../../../src/codecs/shared/errors/openai-overflow.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { addUp } from "./read-streams.ts";

const { readAnswer, readErrorMessage } = chatCompletionsClient;

function read(message: object, choice: object = {}, rest: object = {}) {
  const body = {
    id: "x",
    choices: [{ index: 0, message, finish_reason: "stop", ...choice }],
    ...rest,
  };
  const events = readAnswer(JSON.stringify(body));
  checkEventOrder(events);
  return events;
}

describe("a whole answer", () => {
  it("gives the events of its stream", () => {
    const message = {
      role: "assistant",
      content: "Hi",
      reasoning_content: "Hm",
      refusal: null,
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: " {} " } },
        { id: "", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    };
    const events = read(message);
    expect(events.map(({ type }) => type)).toEqual([
      "start",
      "block-start",
      "reasoning-delta",
      "block-end",
      "block-start",
      "text-delta",
      "block-end",
      "tool-call-start",
      "tool-call-delta",
      "tool-call-start",
      "tool-call-delta",
      "block-end",
      "block-end",
      "finish",
    ]);
    expect(addUp(events)).toMatchObject({
      text: "Hi",
      reasoning: "Hm",
      calls: [{ id: "a", arguments: " {} " }, { name: "g" }],
      end: "tool-calls",
    });
  });

  it("may hold its thoughts in tags or parts, refuse, say nothing, or give no reason", () => {
    expect(addUp(read({ content: "<think>Hm</think>\n4" }))).toMatchObject({
      reasoning: "Hm",
      text: "4",
    });
    expect(addUp(read({ content: "<think>Hm" }))).toMatchObject({ reasoning: "Hm", text: "" });
    const parts = [
      { type: "thinking", thinking: "Hm" },
      { type: "text", text: "4" },
    ];
    expect(addUp(read({ content: parts }))).toMatchObject({ reasoning: "Hm", text: "4" });
    expect(addUp(read({ content: null, refusal: "No." })).refusal).toBe("No.");
    expect(addUp(read({ content: "" }, { finish_reason: "length" })).end).toBe("length");
    expect(addUp(read({ content: "a" }, { finish_reason: null })).end).toBe("stop");
  });

  it("keeps the vendor's own fields where they were", () => {
    const choice = { logprobs: { content: [] }, stop_reason: "END", token_ids: [1] };
    const events = read({ content: "a", annotations: [1], audio: null }, choice, {
      timings: { ms: 1 },
    });
    expect(events[0]).toEqual({ type: "start", extra: { timings: { ms: 1 } } });
    expect(events.at(-1)).toMatchObject({
      reason: "stop-sequence",
      stopSequence: "END",
      extra: { ...choice, message: { annotations: [1] } },
    });
  });

  it.each([
    "",
    "{",
    "<html>",
    "null",
    "[]",
    "5",
    "{}",
    '{"choices":[]}',
    '{"choices":[{"index":0}]}',
    '{"choices":"x"}',
  ])("S09: is not %j", (garbage) => {
    expect(() => readAnswer(garbage)).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });

  it("is not an error", () => {
    const failed = '{"error":{"message":"Out of memory.","code":500}}';
    expect(() => readAnswer(failed)).toThrow("Out of memory.");
    const aborted = () => read({ content: "a" }, { finish_reason: "abort" });
    expect(aborted).toThrow(expect.objectContaining({ code: "upstream_error" }));
  });
});

describe("the words of an error response", () => {
  it.each([
    ['{"error":{"message":"No.","type":"BadRequestError","param":null,"code":400}}', "No."],
    ['{"object":"error","message":"No.","type":"BadRequestError","code":400}', "No."],
    ['{"code":"Client specified an invalid argument","error":"No."}', "No."],
    ['[{"error":{"code":400,"message":"No.","status":"INVALID_ARGUMENT"}}]', "No."],
    [
      '{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","n"],"msg":"No."}]}}',
      "No.",
    ],
    ['{"detail":"No."}', "No."],
    ['{"detail":[{"loc":["body"],"msg":"No."}]}', "No."],
    ['{"message":"No.","request_id":"1"}', "No."],
    ['{"error":{"message":"see http://10.0.0.1:8000/x"}}', "see [address]"],
    ['"No."', "No."],
    ["{}", undefined],
    ['{"error":{"message":""}}', undefined],
    ['{"error":{"code":5}}', undefined],
    ["<html>502</html>", undefined],
    ["", undefined],
    ["null", undefined],
    [`${'{"error":'.repeat(50)}"deep"${"}".repeat(50)}`, undefined],
  ])("%s", (body, message) => {
    expect(readErrorMessage(body)).toBe(message);
  });
});

describe("the numbers of a context overflow", () => {
  it.each([
    [
      "You passed 40000 input tokens and requested 8192 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 24576 tokens. Please reduce the length of the input prompt.",
      40000,
      32768,
    ],
    [
      "max_tokens=99999cannot be greater than max_model_len=4096. Please request fewer output tokens.",
      undefined,
      4096,
    ],
    [
      "max_tokens=99999cannot be greater than max_model_len=max_total_tokens=4096.",
      undefined,
      4096,
    ],
    [
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion).",
      1000,
      4096,
    ],
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (4096 > 4096 - 1000).",
      1000,
      4096,
    ],
    [
      "This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your prompt contains at least 4000 input tokens, for a total of at least 4100 tokens.",
      4000,
      4096,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      9000,
      8192,
    ],
    [
      "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
      5000,
      4096,
    ],
    [
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      40000,
      32768,
    ],
    [
      "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
      200000,
      131072,
    ],
    [
      "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      61709,
      40960,
    ],
    [
      "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 140000 tokens: 130000 tokens from the input messages and 10000 tokens for the completion.",
      130000,
      131072,
    ],
    [
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5228>= n_ctx: 4096). Try to load the model with a larger context length.",
      5228,
      4096,
    ],
    [
      "Trying to keep the first 4097 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens.",
      4097,
      4096,
    ],
    [
      "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
      291351,
      262144,
    ],
    [
      "The prompt (total length 45000) is too long to fit into the model (context length 32768).",
      45000,
      32768,
    ],
    [
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      undefined,
      undefined,
    ],
  ])("%s", (message, promptTokens, contextLength) => {
    expect(readContextOverflow(message)).toEqual({ promptTokens, contextLength });
  });

  it.each([
    "temperature must be non-negative, got -1.0.",
    "Request too large for m on tokens per min (TPM): Limit 30000, Requested 31000.",
  ])("are not read from other complaints: %s", (message) => {
    expect(readContextOverflow(message)).toBeUndefined();
  });

  for (const { name, bytes } of readSharedFixtures(["vllm"], "overflow.json")) {
    it(`are read from ${name}`, () => {
      const { body } = JSON.parse(new TextDecoder().decode(bytes));
      const message = readErrorMessage(JSON.stringify(body)) ?? "";
      expect(readContextOverflow(message)).toEqual({ promptTokens: 40000, contextLength: 32768 });
    });
  }
});
