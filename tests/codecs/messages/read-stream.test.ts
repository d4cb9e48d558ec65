import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { messagesClient } from "../../../src/codecs/messages/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import {
  addUp,
  expectSameHoweverCut,
  readPieces,
  readStream,
} from "../../support/clients/client-streams.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";

const OWN_FIXTURE = join(import.meta.dirname, "../../fixtures/messages/thoughts-and-calls.sse");

const START = {
  type: "message_start",
  message: { id: "msg_1", content: [], usage: { input_tokens: 9, output_tokens: 1 } },
};
const STOP = { type: "message_stop" };

const blockStart = (index: number, block: object) => ({
  type: "content_block_start",
  index,
  content_block: block,
});
const blockDelta = (index: number, delta: object) => ({
  type: "content_block_delta",
  index,
  delta,
});
const blockStop = (index: number) => ({ type: "content_block_stop", index });
const text = (words: string) => blockDelta(0, { type: "text_delta", text: words });
const json = (index: number, piece: string) =>
  blockDelta(index, { type: "input_json_delta", partial_json: piece });
const toolUse = (index: number, input: object = {}) =>
  blockStart(index, { type: "tool_use", id: `toolu_${index}`, name: `tool${index}`, input });
const ending = (stop_reason: string | null, rest: object = {}, usage?: object) => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null, ...rest },
  usage,
});

/** Each an event, or a text that stands in the place of its data. */
function readEvents(...events: readonly (object | string)[]): ChatEvent[] {
  const frames = events.map((event) => {
    if (typeof event === "string") return `data: ${event}\n\n`;
    return `event: ${Reflect.get(event, "type")}\ndata: ${JSON.stringify(event)}\n\n`;
  });
  return readStream(messagesClient, frames.join(""));
}

describe("every recorded stream", () => {
  it.each(readSharedFixtures(["anthropic"], ".sse"))(
    "$name is read to its end, however it is cut",
    ({ bytes }) => {
      const answer = addUp(readPieces(messagesClient, [bytes]));
      expect(answer.end).toMatch(/^(stop|tool-calls|length|content-filter)$/);
      if (answer.end === "tool-calls") {
        expect(answer.calls.map((call) => JSON.parse(call.arguments))).not.toEqual([]);
      }
      expectSameHoweverCut(messagesClient, bytes);
    },
  );

  it("of ours is read whole, however it is cut", () => {
    const bytes = new Uint8Array(readFileSync(OWN_FIXTURE));
    const events = readPieces(messagesClient, [bytes]);
    expect(addUp(events)).toEqual({
      text: 'One "moment"\n',
      reasoning: "Größe 👍",
      seals: ["first", "c2ln", "c2VjcmV0"],
      calls: [
        {
          id: "toolu_01B",
          name: "first",
          signature: undefined,
          arguments: '{"n": 9007199254740993, "é": "\\u00e9"}',
        },
        { id: "toolu_01C", name: "second", signature: undefined, arguments: "{}" },
      ],
      end: "tool-calls",
    });
    expect(events[0]).toEqual({ type: "start", inputTokens: 3210 });
    expect(events.at(-1)).toMatchObject({
      usage: {
        inputTokens: 3212,
        outputTokens: 40,
        cachedTokens: 200,
        cacheWriteTokens: 3000,
        reasoningTokens: 7,
      },
    });
    expectSameHoweverCut(messagesClient, bytes);
  });
});

describe("thoughts in a stream", () => {
  it("that are not shown keep their seal", () => {
    const events = readEvents(
      START,
      blockStart(0, { type: "thinking", thinking: "", signature: "" }),
      blockDelta(0, { type: "signature_delta", signature: "c2ln" }),
      blockStop(0),
      blockStart(1, { type: "text", text: "" }),
      blockDelta(1, { type: "text_delta", text: "Hi" }),
      blockStop(1),
      ending("end_turn"),
      STOP,
    );
    expect(events.map(({ type }) => type)).toEqual([
      "start",
      "block-start",
      "signature",
      "block-end",
      "block-start",
      "text-delta",
      "block-end",
      "finish",
    ]);
  });

  it("stay apart when one follows the other", () => {
    const thought = (index: number) => [
      blockStart(index, { type: "thinking", thinking: "" }),
      blockDelta(index, { type: "thinking_delta", thinking: "a" }),
      blockDelta(index, { type: "signature_delta", signature: `seal${index}` }),
      blockStop(index),
    ];
    const events = readEvents(START, ...thought(0), ...thought(1), ending("end_turn"), STOP);
    const seals = events.filter((event) => event.type === "signature");
    expect(seals).toEqual([
      { type: "signature", block: 0, signature: "seal0" },
      { type: "signature", block: 1, signature: "seal1" },
    ]);
  });
});

describe("the arguments of a call", () => {
  const whole = '{"n":12345678901234567890,"s":"\\u00e9\\"}{é","list":[1,{"a":null}]}';

  it("come through in any number of pieces", () => {
    for (let count = 1; count <= 64; count++) {
      const size = Math.ceil(whole.length / count);
      const pieces = Array.from({ length: count }, (_, at) =>
        json(0, whole.slice(at * size, (at + 1) * size)),
      );
      const events = readEvents(
        START,
        toolUse(0),
        ...pieces,
        blockStop(0),
        ending("tool_use"),
        STOP,
      );
      expect(addUp(events).calls).toMatchObject([{ arguments: whole }]);
    }
  });

  it("come through when calls are told side by side", () => {
    const events = readEvents(
      START,
      toolUse(0),
      toolUse(1),
      ...[...whole].flatMap((character) => [json(0, character), json(1, character)]),
      blockStop(0),
      blockStop(1),
      ending("tool_use"),
      STOP,
    );
    expect(addUp(events).calls).toMatchObject([
      { id: "toolu_0", arguments: whole },
      { id: "toolu_1", arguments: whole },
    ]);
  });

  it("are those of the call's start when no pieces follow, in the very characters", () => {
    const start = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":${whole}}}`;
    const events = readEvents(START, start, blockStop(0), ending("tool_use"), STOP);
    expect(addUp(events).calls).toMatchObject([{ id: "t", arguments: whole }]);
  });

  it("that go on after another block began are an error", () => {
    const events = readEvents(START, toolUse(0), text("Hi"), json(0, "{"), STOP);
    expect(addUp(events).end).toBe("upstream_error");
  });

  it("belong to calls with ids of their own, whatever the vendor says", () => {
    const twin = (index: number) => [
      blockStart(index, { type: "tool_use", id: "same", name: "f", input: {} }),
      blockStop(index),
    ];
    const events = readEvents(START, ...twin(0), ...twin(1), ending("tool_use"), STOP);
    expect(addUp(events).calls.map(({ id }) => id)).toEqual(["same", "toolu_msg_1_1"]);
  });
});

describe("the end of a stream", () => {
  it.each([
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["stop_sequence", "stop-sequence"],
    ["tool_use", "stop"],
    ["pause_turn", "paused"],
    ["refusal", "content-filter"],
    ["model_context_window_exceeded", "context-full"],
    ["word_of_tomorrow", "stop"],
  ])("for %s is %s", (word, reason) => {
    const events = readEvents(START, text("Hi"), ending(word), STOP);
    expect(events.at(-1)).toMatchObject({ type: "finish", reason });
  });

  it("tells calls, unless the answer was cut", () => {
    const after = (word: string) =>
      addUp(readEvents(START, toolUse(0), blockStop(0), ending(word), STOP)).end;
    expect(["tool_use", "end_turn", "max_tokens"].map(after)).toEqual([
      "tool-calls",
      "tool-calls",
      "length",
    ]);
  });

  it("tells the stop sequence that was met", () => {
    const events = readEvents(
      START,
      text("Hi"),
      ending("stop_sequence", { stop_sequence: "END" }),
      STOP,
    );
    expect(events.at(-1)).toMatchObject({ reason: "stop-sequence", stopSequence: "END" });
  });

  it("tells why the answer was refused", () => {
    const refusal = { category: null, explanation: "Not this." };
    const end = ending("refusal", { stop_details: { type: "refusal", ...refusal } });
    expect(readEvents(START, end, STOP).at(-1)).toMatchObject({
      reason: "content-filter",
      refusal,
    });
  });

  it("takes the last figures, and earlier ones where the last say nothing", () => {
    const events = readEvents(
      START,
      ending(null, {}, { output_tokens: 4 }),
      ending("end_turn", {}, { input_tokens: null, output_tokens: 7 }),
      STOP,
    );
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 9, outputTokens: 7 } });
  });

  it("that does not come is an error", () => {
    expect(addUp(readEvents(START, text("Hi"))).end).toBe("upstream_error");
    expect(addUp(readEvents(START, text("Hi"), ending("end_turn"))).end).toBe("upstream_error");
    expect(addUp(readStream(messagesClient, "")).end).toBe("upstream_error");
  });
});

describe("a start that is told twice", () => {
  it("is one start, with the figures of both", () => {
    const usage = { cache_read_input_tokens: 4 };
    const again = { ...START, message: { ...START.message, usage } };
    const events = readEvents(START, again, text("Hi"), ending("end_turn"), STOP);
    expect(addUp(events)).toMatchObject({ text: "Hi", end: "stop" });
    expect(events.filter(({ type }) => type === "start")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 13, cachedTokens: 4 } });
  });
});

describe("what is no answer", () => {
  it.each([
    ["no JSON", ["{"]],
    ["no object", ["7"]],
    ["an object without a type", ["{}"]],
    ["content before the start", [text("Hi")]],
    [
      "the start of a second answer",
      [START, { ...START, message: { ...START.message, id: "msg_2" } }],
    ],
    ["a delta without content", [START, { type: "content_block_delta", index: 0 }]],
    ["a call without a name", [START, blockStart(0, { type: "tool_use", id: "t", input: {} })]],
    ["an end before the start", [STOP]],
  ])("is an error: %s", (_name, events) => {
    expect(addUp(readEvents(...events)).end).toBe("upstream_error");
  });

  it("is an event that is too long", () => {
    const long = `data: ${JSON.stringify(text("x".repeat(2000)))}\n\n`;
    const events = readStream(messagesClient, `data: ${JSON.stringify(START)}\n\n${long}`, 1000);
    expect(addUp(events).end).toBe("upstream_error");
  });
});

describe("an error in a stream", () => {
  it.each([
    ["overloaded_error", "overloaded", 529],
    ["rate_limit_error", "rate_limit_exceeded", 429],
    ["timeout_error", "upstream_timeout", 504],
    ["request_too_large", "request_too_large", 413],
    ["invalid_request_error", "invalid_value", 400],
    ["api_error", "upstream_error", 500],
    ["error_of_tomorrow", "upstream_error", 500],
  ])("of type %s is %s", (type, code, upstreamStatus) => {
    const events = readEvents(START, text("Hi"), {
      type: "error",
      error: { type, message: "At http://10.0.0.1/x it broke." },
    });
    expect(events.at(-1)).toMatchObject({
      type: "error",
      error: { code, upstreamStatus, message: "At [address] it broke." },
    });
  });

  it.each(["authentication_error", "permission_error", "billing_error", "not_found_error"])(
    "of type %s does not give the vendor's words away",
    (type) => {
      const events = readEvents({ type: "error", error: { type, message: "secret words" } });
      const last = events.at(-1);
      expect(last).toMatchObject({ type: "error", error: { code: "upstream_error" } });
      expect(last?.type === "error" && last.error.message).not.toContain("secret");
    },
  );

  it("for a prompt that is too long says by how much", () => {
    const events = readEvents({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "prompt is too long: 210000 tokens > 200000 maximum",
      },
    });
    expect(events.at(-1)).toMatchObject({
      error: {
        code: "context_length_exceeded",
        overflow: { promptTokens: 210_000, contextLength: 200_000 },
      },
    });
  });
});
