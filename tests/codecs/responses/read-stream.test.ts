import { describe, expect, it } from "vitest";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import {
  added,
  argumentsIn,
  CREATED,
  completed,
  done,
  joined,
  readEvents,
  readText,
  toFrame,
} from "./read-streams.ts";

const call = (id: string, name = "f") => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: "",
});
const args = (output_index: number, delta: string) => ({
  type: "response.function_call_arguments.delta",
  output_index,
  delta,
});
const text = (delta: string, output_index = 0, content_index = 0) => ({
  type: "response.output_text.delta",
  output_index,
  content_index,
  delta,
});
const message = (...content: readonly object[]) => ({
  type: "message",
  role: "assistant",
  content,
});
const said = (words: string) => ({ type: "output_text", text: words });

function endOf(events: readonly ChatEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error(`ends with ${last?.type}`);
  return last;
}

function errorOf(events: readonly ChatEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "error") throw new Error(`ends with ${last?.type}`);
  return last.error;
}

describe("arguments of calls", () => {
  const ARGUMENTS = ' {"a" : 1e2, "ü":"\\ud83d\\ude00 😀 \\"\\\\", "n":12345678901234567890} ';

  it("come through byte for byte in 1 to 64 fragments", () => {
    for (let count = 1; count <= 64; count++) {
      const pieces = split(ARGUMENTS, count).map((piece) => args(0, piece));
      const whole = { ...call("c"), arguments: ARGUMENTS };
      const events = readEvents(
        CREATED,
        added(0, call("c")),
        ...pieces,
        done(0, whole),
        completed(),
      );
      expect(argumentsIn(events)).toEqual([ARGUMENTS]);
    }
  });

  it("of three calls side by side do not mix", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const texts = [0, 1, 2].map((index) => JSON.stringify({ index, seed, text: ARGUMENTS }));
      const rest = texts.map((whole) => split(whole, seed));
      const events: object[] = [
        CREATED,
        ...texts.map((_, index) => added(index, call(`c${index}`))),
      ];
      for (let step = seed; rest.some((pieces) => pieces.length > 0); step = (step * 7 + 3) % 101) {
        const piece = rest[step % 3]!.shift();
        if (piece !== undefined) events.push(args(step % 3, piece));
        else
          rest.forEach((pieces, index) => {
            const next = pieces.shift();
            if (next !== undefined) events.push(args(index, next));
          });
      }
      texts.forEach((whole, index) => {
        events.push(done(index, { ...call(`c${index}`), arguments: whole }));
      });
      expect(argumentsIn(readEvents(...events, completed()))).toEqual(texts);
    }
  });

  it("may come only with the end of the arguments, of the item, or of the answer", () => {
    const whole = { ...call("c"), arguments: ARGUMENTS };
    const end = {
      type: "response.function_call_arguments.done",
      output_index: 0,
      arguments: ARGUMENTS,
    };
    for (const events of [
      [CREATED, added(0, call("c")), end, done(0, whole), completed(whole)],
      [CREATED, added(0, call("c")), args(0, ARGUMENTS.slice(0, 9)), done(0, whole), completed()],
      [CREATED, done(0, whole), completed(whole)],
      [CREATED, completed(whole)],
      [CREATED, args(0, "{"), done(0, whole), completed()],
    ]) {
      const read = readEvents(...events);
      expect(argumentsIn(read)).toEqual([ARGUMENTS]);
      expect(endOf(read).reason).toBe("tool-calls");
    }
  });

  it("of a tool of free text are a function's, whatever the text and its pieces", () => {
    const input = 'SELECT "a"\\\n\t😀\u2028\u0007';
    for (let count = 1; count <= input.length; count++) {
      const pieces = split(input, count).map((delta) => ({
        type: "response.custom_tool_call_input.delta",
        output_index: 0,
        delta,
      }));
      const item = { type: "custom_tool_call", call_id: "c", name: "f", input: "" };
      for (const ending of [[done(0, { ...item, input })], []]) {
        const [read] = argumentsIn(
          readEvents(CREATED, added(0, item), ...pieces, ...ending, completed()),
        );
        expect(JSON.parse(read ?? "")).toEqual({ input });
      }
    }
  });

  it("get ids of their own where the vendor gives none or one twice", () => {
    const nameless = { type: "function_call", name: "f", arguments: "{}" };
    const events = readEvents(
      CREATED,
      done(0, nameless),
      done(1, nameless),
      done(2, { ...nameless, id: "fc_1" }),
      done(3, { ...nameless, call_id: "c" }),
      done(4, { ...nameless, call_id: "c" }),
      completed(),
    );
    const ids = events.flatMap((event) => (event.type === "tool-call-start" ? [event.callId] : []));
    expect(ids.slice(2, 4)).toEqual(["fc_1", "c"]);
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("without a name, or going on after other content, are an error", () => {
    const nameless = readEvents(CREATED, added(0, call("c", "")), completed());
    expect(errorOf(nameless).message).toContain("without a name");
    const late = readEvents(CREATED, added(0, call("c")), args(0, "{"), text("a", 1), args(0, "}"));
    expect(errorOf(late).code).toBe("upstream_error");
  });
});

describe("text", () => {
  it("of every message and every part is a block of its own", () => {
    const events = readEvents(
      CREATED,
      added(0, message()),
      text("a"),
      text("b"),
      text("c", 0, 1),
      done(0, message(said("ab"), said("c"))),
      added(1, message()),
      text("d", 1),
      done(1, message(said("d"))),
      completed(),
    );
    const texts = joined(events).filter((event) => Object.hasOwn(Object(event), "text"));
    expect(texts).toEqual([
      { type: "text-delta", block: 0, text: "ab" },
      { type: "text-delta", block: 1, text: "c" },
      { type: "text-delta", block: 2, text: "d" },
    ]);
  });

  it("is read once however often and however late it is told", () => {
    const end = {
      type: "response.output_text.done",
      output_index: 0,
      content_index: 0,
      text: "abc",
    };
    const whole = done(0, message(said("abc")));
    const last = completed(message(said("abc")));
    for (const events of [
      [added(0, message()), text("ab"), text("c"), end, whole, last],
      [added(0, message()), text("ab"), end, whole, last],
      [added(0, message()), end, end, whole, last],
      [text("abc"), last],
      [whole, last],
      [whole, whole, last],
      [last],
    ]) {
      const texts = joined(readEvents(CREATED, ...events)).filter((event) =>
        Object.hasOwn(Object(event), "text"),
      );
      expect(texts).toEqual([{ type: "text-delta", block: 0, text: "abc" }]);
    }
  });

  it("carries log probabilities in the chat format", () => {
    const logprobs = [{ token: "a", logprob: -1, top_logprobs: [{ token: "b", logprob: -2 }] }];
    const extra = {
      logprobs: {
        content: [
          {
            token: "a",
            logprob: -1,
            bytes: null,
            top_logprobs: [{ token: "b", logprob: -2, bytes: null }],
          },
        ],
      },
    };
    const streamed = readEvents(
      CREATED,
      { ...text("a"), logprobs },
      { ...text("b"), logprobs: [] },
    );
    expect(streamed[2]).toEqual({ type: "text-delta", block: 0, text: "a", extra });
    expect(streamed[3]).toEqual({ type: "text-delta", block: 0, text: "b" });
    const whole = readEvents(completed(message({ ...said("a"), logprobs })));
    expect(whole[2]).toMatchObject({ extra });
  });
});

describe("thoughts", () => {
  const THOUGHT = { id: "rs_1", type: "reasoning", summary: [] };
  const summary = (delta: string, summary_index = 0) => ({
    type: "response.reasoning_summary_text.delta",
    output_index: 0,
    summary_index,
    delta,
  });

  it.each(["response.reasoning_text.delta", "response.reasoning.delta"])("come by %s", (type) => {
    const events = readEvents(
      CREATED,
      added(0, THOUGHT),
      { type, output_index: 0, content_index: 0, delta: "Hm" },
      done(0, THOUGHT),
      completed(),
    );
    expect(events.slice(1, 4)).toEqual([
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "reasoning-delta", block: 0, text: "Hm" },
      { type: "block-end", block: 0 },
    ]);
  });

  it("are one block of all their parts, sealed by the item's last telling", () => {
    const events = readEvents(
      CREATED,
      added(0, { ...THOUGHT, encrypted_content: "early" }),
      summary("A"),
      summary("B", 1),
      done(0, { ...THOUGHT, encrypted_content: "late" }),
      text("x", 1),
      completed(),
    );
    expect(joined(events).slice(1, 5)).toEqual([
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "reasoning-delta", block: 0, text: "A\n\nB" },
      { type: "signature", block: 0, signature: "openai.rs_1:late" },
      { type: "block-end", block: 0 },
    ]);
  });

  it("without words are a seal alone, and nothing without one", () => {
    const sealed = readEvents(
      CREATED,
      done(0, { ...THOUGHT, encrypted_content: "x" }),
      completed(),
    );
    expect(sealed.slice(1, -1)).toEqual([
      { type: "block-start", block: 0, kind: "reasoning" },
      { type: "signature", block: 0, redacted: "openai.rs_1:x" },
      { type: "block-end", block: 0 },
    ]);
    expect(readEvents(CREATED, added(0, THOUGHT), done(0, THOUGHT), completed())).toHaveLength(2);
  });

  it("told twice, in full and in sum, are read once", () => {
    const both = {
      ...THOUGHT,
      summary: [{ type: "summary_text", text: "S" }],
      content: [{ type: "reasoning_text", text: "T" }],
    };
    const full = { type: "response.reasoning_text.delta", output_index: 0, delta: "T" };
    const streamed = readEvents(
      CREATED,
      added(0, THOUGHT),
      full,
      summary("S"),
      done(0, both),
      completed(),
    );
    expect(joined(streamed)[2]).toMatchObject({ text: "T" });
    expect(joined(streamed)).toHaveLength(5);
    expect(joined(readEvents(completed(both)))).toHaveLength(5);
  });
});

describe("the end", () => {
  it.each([
    [{ reason: "max_output_tokens" }, "length"],
    [{ reason: "content_filter" }, "content-filter"],
    [{ reason: "steered" }, "length"],
    [null, "length"],
  ])("of an incomplete answer with %j is %s, even after a call", (incomplete_details, reason) => {
    const end = { type: "response.incomplete", response: { incomplete_details } };
    expect(endOf(readEvents(CREATED, text("a"), end)).reason).toBe(reason);
    expect(endOf(readEvents(CREATED, added(0, call("c")), args(0, "{"), end)).reason).toBe(reason);
  });

  it("has the figures of usage, or none", () => {
    const usage = {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
    };
    const end = (figures: unknown) => ({
      type: "response.completed",
      response: { usage: figures },
    });
    expect(endOf(readEvents(CREATED, end(usage))).usage).toEqual({
      inputTokens: 9,
      outputTokens: 3,
      cachedTokens: 4,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    });
    for (const none of [undefined, null, {}, "9", { input_tokens: -1, output_tokens: "3" }]) {
      expect(endOf(readEvents(CREATED, end(none))).usage).toBeUndefined();
    }
  });

  it("may be told to clients of chat completions too, but [DONE] alone is none", () => {
    const done = "data: [DONE]\n\n";
    expect(endOf(readText(toFrame(CREATED) + toFrame(completed()) + done)).reason).toBe("stop");
    expect(errorOf(readText(toFrame(CREATED) + done)).message).toContain("broke off");
  });
});

describe("an error", () => {
  const MESSAGE = "Something went wrong.";

  it.each([
    ["nested", { type: "error", error: { type: "server_error", code: null, message: MESSAGE } }],
    ["flat", { type: "error", code: null, message: MESSAGE, param: null }],
    [
      "that of a failed answer",
      { type: "response.failed", response: { error: { message: MESSAGE } } },
    ],
    ["that of chat completions", { error: { message: MESSAGE } }],
    ["a text", { type: "error", error: MESSAGE }],
  ])("is read: %s", (_form, event) => {
    const events = readEvents(CREATED, text("a"), event, completed());
    expect(errorOf(events)).toMatchObject({ code: "upstream_error", message: MESSAGE });
    expect(events.filter(({ type }) => type === "error")).toHaveLength(1);
  });

  it.each([
    ["rate_limit_exceeded", "rate_limit_exceeded"],
    ["insufficient_quota", "rate_limit_exceeded"],
    ["context_length_exceeded", "context_length_exceeded"],
    ["invalid_prompt", "invalid_value"],
    ["failed_to_download_image", "invalid_value"],
    ["server_is_overloaded", "overloaded"],
    ["server_error", "upstream_error"],
  ])("with the code %s is %s", (code, expected) => {
    const failed = { type: "response.failed", response: { error: { code, message: MESSAGE } } };
    expect(errorOf(readEvents(CREATED, failed)).code).toBe(expected);
    expect(errorOf(readEvents({ type: "error", code, message: MESSAGE })).code).toBe(expected);
  });

  it("is a failure without words, and a cancelled answer", () => {
    for (const type of ["response.failed", "response.cancelled"]) {
      expect(errorOf(readEvents(CREATED, { type, response: { error: null } })).code).toBe(
        "upstream_error",
      );
    }
  });

  it.each(["<html>", "{", "null", "[]", "5", '"x"', "{}", '{"type":5}'])(
    "S09: is %s",
    (garbage) => {
      const events = readText(`${toFrame(CREATED)}data: ${garbage}\n\n${toFrame(completed())}`);
      expect(errorOf(events)).toMatchObject({ code: "upstream_error" });
      expect(events).toHaveLength(2);
    },
  );

  it("S09: is nothing at all, a page, and an event over the limit", () => {
    expect(errorOf(readText("")).code).toBe("upstream_error");
    expect(errorOf(readText("<html>\n<body>\n</html>")).code).toBe("upstream_error");
    const long = toFrame(CREATED) + toFrame(text("x".repeat(5000)));
    expect(errorOf(readText(long, 2000)).message).toContain("too long");
  });
});

describe("a stream", () => {
  it("may hold events, items and fields that nobody knows, and leave out others", () => {
    const events = readEvents(
      { type: "response.queued" },
      { type: "response.brand_new", output_index: 0, delta: 5 },
      added(0, { type: "web_search_call" }),
      { type: "response.output_item.added", item: null },
      { type: "response.output_text.delta", delta: null },
      text("a", 1),
      { type: "response.output_text.annotation.added", annotation: {} },
      { type: "response.content_part.done", part: null },
      done(0, { type: "web_search_call" }),
      { type: "response.completed" },
    );
    expect(joined(events).slice(1)).toEqual([
      { type: "block-start", block: 0, kind: "text" },
      { type: "text-delta", block: 0, text: "a" },
      { type: "block-end", block: 0 },
      { type: "finish", reason: "stop" },
    ]);
  });

  it("may name its events beside the data alone, and items by their ids alone", () => {
    const frame = (name: string, data: object) =>
      `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    const events = readText(
      frame("response.created", { response: { id: "r" } }) +
        frame("response.output_item.added", { item: { ...call("c"), id: "fc_1" } }) +
        frame("response.function_call_arguments.delta", { item_id: "fc_1", delta: "{}" }) +
        frame("response.output_item.done", {
          item: { ...call("c"), id: "fc_1", arguments: "{}" },
        }) +
        frame("response.output_item.done", { item: message(said("x")) }) +
        frame("response.output_item.done", { item: message(said("y")) }) +
        frame("response.completed", { response: {} }),
    );
    expect(argumentsIn(events)).toEqual(["{}"]);
    expect(joined(events).filter((event) => Object.hasOwn(Object(event), "text"))).toHaveLength(2);
  });
});

/** The text in this many pieces, some of them empty when it is too short. */
function split(whole: string, count: number): string[] {
  const size = Math.ceil(whole.length / count);
  return Array.from({ length: count }, (_, index) => whole.slice(index * size, (index + 1) * size));
}
