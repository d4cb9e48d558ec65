import { describe, expect, it } from "vitest";
import type { ChatEvent, FinishEvent } from "../../../src/core/chat/chat-event.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  addUp,
  chunk,
  createRandom,
  FINISH,
  plain,
  readChunks,
  readPieces,
  readText,
  toFrame,
} from "./read-streams.ts";

const encoder = new TextEncoder();

function endOf(events: readonly ChatEvent[]): FinishEvent {
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error(`the stream ended with ${plain([last!])}`);
  return last;
}

function errorOf(events: readonly ChatEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "error") throw new Error("the stream did not end with an error");
  return last.error;
}

const text = (content: string) => chunk({ content });

describe("the text of a stream", () => {
  it("S01: comes through byte by byte without a broken character", () => {
    const alphabet = [
      "a",
      " ",
      "é",
      "ß",
      "日",
      "本",
      "👍",
      "👩‍👩‍👧",
      "🏳️‍🌈",
      "\n",
      '"',
      "\\",
      "\u2028",
      "\u0000",
      "</think>",
    ];
    for (let seed = 0; seed < trialSize(200, 1_000); seed++) {
      const random = createRandom(seed);
      const pieces = Array.from({ length: 1 + random(12) }, () =>
        Array.from({ length: 1 + random(6) }, () => alphabet[random(alphabet.length)]).join(""),
      );
      const sent = `x${pieces.join("")}`;
      const frames = [...["x", ...pieces].map(text), FINISH].map(toFrame);
      const bytes = encoder.encode(`${frames.join("")}data: [DONE]\n\n`);
      const slices = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      const received = addUp(readPieces(slices)).text;
      if (received !== sent || received.includes("\ufffd")) {
        expect({ seed, received }).toEqual({ seed, received: sent });
      }
    }
  });

  it("is the same whether events are recognised or parsed, for any chunk", () => {
    for (let seed = 0; seed < trialSize(500, 3_000); seed++) {
      const frames = randomFrames(createRandom(seed));
      const stream = `${frames.join("")}data: [DONE]\n\n`;
      const recognised = plain(readText(stream));
      // With CRLF every event takes the way through the parser.
      const parsed = plain(readText(stream.replaceAll("\n\n", "\r\n\r\n")));
      if (recognised !== parsed) expect({ seed, recognised }).toEqual({ seed, recognised: parsed });
    }
  });

  it("keeps white space, empty pieces and lines as they came", () => {
    const events = readChunks(text(" "), text(""), text("\n\n"), text("  a"), text("\r\n"), FINISH);
    expect(addUp(events).text).toBe(" \n\n  a\r\n");
  });
});

type Random = (below: number) => number;

const PIECES = [
  "a",
  "b",
  " b",
  "content",
  '","x":"',
  "\\",
  "\n",
  "ü",
  "日",
  "👍",
  "",
  "stop",
  "<think>",
];
const LOGPROBS = { content: [{ token: "a" }] };

/**
 * Chunks that are alike but for what often and what seldom differs, so that wrong recognition shows. In some streams
 * what is seldom elsewhere stands in every other chunk.
 */
function randomFrames(random: Random): string[] {
  const field = ["content", "content", "reasoning", "reasoning_content"][random(4)]!;
  const space = random(3) === 0 ? 1 : undefined;
  const rarity = { logprobs: 15, finish: 20, usage: 20, model: 3, garbage: 200 };
  const often = (["logprobs", "finish", "usage", "model", "garbage"] as const)[random(12)];
  if (often !== undefined) rarity[often] = 2;
  return Array.from({ length: 1 + random(30) }, (_, index) => {
    const delta = randomDelta(random, field, index);
    const seldom = (name: keyof typeof rarity, value: object): object =>
      random(rarity[name]) === 0 ? value : {};
    const choice = {
      index: 0,
      delta,
      finish_reason: null,
      ...seldom("logprobs", { logprobs: LOGPROBS }),
      ...seldom("finish", { finish_reason: ["stop", "length", ""][random(3)] }),
    };
    const body = {
      id: "c",
      ...seldom("model", { model: PIECES[random(4)] }),
      choices: random(40) === 0 ? [] : [choice],
      ...seldom("usage", { usage: { prompt_tokens: random(2), completion_tokens: 1 } }),
    };
    const json = JSON.stringify(body, null, space).replaceAll("\n", "");
    // Bare control characters are no JSON.
    const sent = random(rarity.garbage) === 0 ? json.replace(':"a', ':"\ta') : json;
    return random(60) === 0 ? `data:${sent}\n\n` : `data: ${sent}\n\n`;
  });
}

function randomDelta(random: Random, usualField: string, index: number): object {
  const field = random(12) === 0 ? ["content", "refusal", "reasoning"][random(3)]! : usualField;
  return {
    ...(index === 0 && { role: "assistant" }),
    [field]: random(20) === 0 ? null : PIECES[random(PIECES.length)],
    ...(random(15) === 0 && { content: "both" }),
  };
}

describe("reasoning in a stream", () => {
  it.each(["reasoning", "reasoning_content"])("is read from `%s`", (name) => {
    const events = readChunks(
      chunk({ [name]: "Let me " }),
      chunk({ [name]: "see" }),
      text("4"),
      FINISH,
    );
    expect(addUp(events)).toMatchObject({ reasoning: "Let me see", text: "4" });
  });

  it("is read once when both names carry it", () => {
    const events = readChunks(chunk({ reasoning: "a", reasoning_content: "a" }), FINISH);
    expect(addUp(events).reasoning).toBe("a");
  });

  it("is told apart from content by tags that are split anywhere", () => {
    const content = "<think>\nFirst <b>\n</think>\n\nThen </think> that";
    for (let at = 0; at <= content.length; at++) {
      const events = readChunks(text(content.slice(0, at)), text(content.slice(at)), FINISH);
      expect(addUp(events)).toMatchObject({
        reasoning: "First <b>\n",
        text: "Then </think> that",
        end: "stop",
      });
    }
    const letters = Array.from(content, text);
    expect(addUp(readChunks(...letters, FINISH)).text).toBe("Then </think> that");
  });

  it("does not look for tags once the engine told its thoughts apart", () => {
    const events = readChunks(chunk({ reasoning: "a" }), text("<think>"), text("b"), FINISH);
    expect(addUp(events)).toMatchObject({ reasoning: "a", text: "<think>b" });
  });

  it("gives held back text out when the stream is over", () => {
    expect(addUp(readChunks(text("<thi"), FINISH)).text).toBe("<thi");
    expect(addUp(readChunks(text("<think>a</th"), FINISH)).reasoning).toBe("a</th");
  });
});

describe("extras of a stream", () => {
  it("ride on the delta of their tokens", () => {
    const one = { content: [{ token: "a" }], refusal: null };
    const events = readChunks(
      chunk({ role: "assistant", content: "" }, { logprobs: null }),
      chunk({ content: "a" }, { logprobs: one, token_ids: [1] }),
      chunk({ content: "b" }),
      FINISH,
    );
    const deltas = events.filter(({ type }) => type === "text-delta");
    expect(deltas).toEqual([
      { type: "text-delta", block: 0, text: "a", extra: { logprobs: one, token_ids: [1] } },
      { type: "text-delta", block: 0, text: "b" },
    ]);
  });

  it("are kept for tokens without text", () => {
    const half = (token: string) => ({ logprobs: { content: [{ token }] } });
    const events = readChunks(
      chunk({ content: "" }, half("\\xe6")),
      chunk({ content: "日" }, half("\\x97")),
      chunk({ content: "" }, { ...half("<eos>"), finish_reason: "stop", stop_reason: 2 }),
    );
    const extras = events
      .map((event) => ("extra" in event ? event.extra : undefined))
      .filter(Boolean);
    expect(extras).toEqual([
      { logprobs: { content: [{ token: "\\xe6" }, { token: "\\x97" }] } },
      half("<eos>"),
      { stop_reason: 2 },
    ]);
  });

  it("of the message are joined once, however many pieces bring a part of them", () => {
    // Copied at each of so many pieces, they would take hours.
    const pieces = Array.from({ length: 100_000 }, (_, index) =>
      chunk({ content: "a", reasoning_details: [{ index }], more: { steps: [index] } }),
    );
    const frames = [...pieces, FINISH, "[DONE]"].map((one) => Buffer.from(toFrame(one)));
    const { extra } = endOf(readPieces(frames)) as unknown as {
      extra: { message: { reasoning_details: object[]; more: { steps: number[] } } };
    };
    const { reasoning_details: details, more } = extra.message;
    expect([details.length, more.steps.length]).toEqual([100_000, 100_000]);
    expect([details.at(-1), more.steps.at(-1)]).toEqual([{ index: 99_999 }, 99_999]);
  });

  it("of the answer come with its start, those of the end with its end", () => {
    const events = readChunks(
      { ...text("a"), system_fingerprint: "fp", service_tier: null, model: "m", created: 1 },
      chunk({}, { finish_reason: "stop", stop_reason: "END" }),
    );
    expect(events[0]).toEqual({ type: "start", extra: { system_fingerprint: "fp" } });
    expect(endOf(events)).toMatchObject({
      reason: "stop-sequence",
      stopSequence: "END",
      extra: { stop_reason: "END" },
    });
  });
});

describe("the finish reason", () => {
  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["model_length", "context-full"],
    ["eos", "stop"],
  ])("%s is read as %s", (word, reason) => {
    expect(endOf(readChunks(text("a"), chunk({}, { finish_reason: word }))).reason).toBe(reason);
  });

  const call = { index: 0, id: "c", function: { name: "f", arguments: "{" } };

  it("is a tool call when there was one, whatever the engine says, but for a cut", () => {
    const named = readChunks(chunk({ tool_calls: [call] }), FINISH);
    expect(endOf(named).reason).toBe("tool-calls");
    for (const [said, reason] of [
      ["length", "length"],
      ["model_length", "context-full"],
    ]) {
      const cut = readChunks(chunk({ tool_calls: [call] }, { finish_reason: said }));
      expect(endOf(cut).reason).toBe(reason);
    }
  });

  it("is an error when the engine gave up", () => {
    expect(errorOf(readChunks(text("a"), chunk({}, { finish_reason: "abort" }))).code).toBe(
      "upstream_error",
    );
    const told = chunk({}, { finish_reason: "error", error: { message: "Out of memory." } });
    expect(errorOf(readChunks(text("a"), told)).message).toBe("Out of memory.");
  });

  it("is the last one that came", () => {
    const stopped = (content: string) => chunk({ content }, { finish_reason: "stop" });
    const cut = chunk({}, { finish_reason: "length" });
    const events = readChunks(text("a"), stopped("b"), stopped("c"), cut, stopped("d"));
    expect(addUp(events)).toMatchObject({ text: "abcd", end: "stop" });
  });

  it("S04: without it no end of a stream is a finish", () => {
    expect(errorOf(readText(toFrame(text("a")))).code).toBe("upstream_error");
    expect(errorOf(readChunks(text("a"))).code).toBe("upstream_error");
    expect(errorOf(readChunks(text("a"), chunk({}, { finish_reason: "" }))).code).toBe(
      "upstream_error",
    );
    expect(errorOf(readText("")).code).toBe("upstream_error");
  });

  it("makes the answer complete even when [DONE] never comes", () => {
    expect(endOf(readText(toFrame(text("a")) + toFrame(FINISH))).reason).toBe("stop");
    expect(endOf(readText((toFrame(text("a")) + toFrame(FINISH)).trimEnd())).reason).toBe("stop");
  });
});

describe("usage in a stream", () => {
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  const figures = { inputTokens: 9, outputTokens: 3 };

  it.each([
    ["on the chunk that ends", [{ ...FINISH, usage }]],
    ["on a chunk of its own", [FINISH, { choices: [], usage }]],
    ["in the choice", [chunk({}, { finish_reason: "stop", usage })]],
    ["under x_groq", [{ ...FINISH, x_groq: { id: "r", usage } }]],
    [
      "on every chunk, of which the last counts",
      [
        { ...text("a"), usage: { prompt_tokens: 9 } },
        { ...FINISH, usage },
      ],
    ],
    [
      "before the chunk that ends",
      [
        { choices: [], usage },
        { ...FINISH, usage: null },
      ],
    ],
  ])("is read %s", (_where, chunks) => {
    expect(endOf(readChunks(...chunks)).usage).toMatchObject(figures);
  });

  it("holds what is known of caches and reasoning", () => {
    const detailed = {
      ...usage,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 1 },
    };
    expect(endOf(readChunks({ ...FINISH, usage: detailed })).usage).toEqual({
      ...figures,
      cachedTokens: 4,
      cacheWriteTokens: 2,
      reasoningTokens: 1,
    });
    for (const name of ["prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens"]) {
      const hits = { ...usage, [name]: 5 };
      expect(endOf(readChunks({ ...FINISH, usage: hits })).usage?.cachedTokens).toBe(5);
    }
  });

  it("never tells more of a part than of its whole", () => {
    const odd = {
      ...usage,
      prompt_tokens_details: { cached_tokens: 7, cache_write_tokens: 7 },
      completion_tokens_details: { reasoning_tokens: 5 },
    };
    expect(endOf(readChunks({ ...FINISH, usage: odd })).usage).toEqual({
      ...figures,
      cachedTokens: 7,
      cacheWriteTokens: 2,
      reasoningTokens: 3,
    });
  });

  it("counts the reasoning that a vendor leaves out of the completion", () => {
    const apart = { prompt_tokens: 12, completion_tokens: 1, total_tokens: 303 };
    expect(endOf(readChunks({ ...FINISH, usage: apart })).usage?.outputTokens).toBe(291);
  });

  it.each([[undefined], [null], [{}], [{ prompt_tokens: -1 }], [{ prompt_tokens: "9" }], ["9"]])(
    "S12: is unknown when the engine says %j",
    (nothing) => {
      expect(endOf(readChunks({ ...FINISH, usage: nothing })).usage).toBeUndefined();
    },
  );
});

describe("what is no answer", () => {
  it.each([
    '{"choices":[{"delta":{"content":"a"',
    "<html>Bad gateway</html>",
    "null",
    "[]",
    "1",
    '"x"',
    '{"choices":{}}',
  ])("S09: %s ends the stream with an error and is not passed on", (garbage) => {
    for (const events of [readChunks(text("a"), garbage, text("b"), FINISH), readChunks(garbage)]) {
      expect(errorOf(events).code).toBe("upstream_error");
      expect(plain(events)).not.toContain("Bad gateway");
      expect(addUp(events).text).not.toContain("b");
    }
  });

  it("is an event over the limit, whether it ends or not", () => {
    const long = toFrame(text("x".repeat(5000)));
    for (const stream of [long, long.slice(0, 3000)]) {
      expect(errorOf(readText(stream, 1000)).message).toMatch(/too long/);
      const bytes = encoder.encode(stream);
      const slices = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      expect(errorOf(readPieces(slices, 1000)).message).toMatch(/too long/);
    }
    const short = [text("a"), text("b"), text("c")].map(toFrame).join("");
    expect(errorOf(readText(short + long, 1000)).message).toMatch(/too long/);
    expect(
      addUp(readText(short + toFrame(text("x".repeat(800))) + toFrame(FINISH), 1000)).end,
    ).toBe("stop");
  });

  it("is a page in place of a stream", () => {
    expect(errorOf(readText("<html>\n<body>\n</html>")).code).toBe("upstream_error");
  });
});

describe("an error in a stream", () => {
  const message = "EngineCore encountered an issue.";

  it.each([
    ["an object", { error: { message, type: "InternalServerError", param: null, code: 500 } }],
    ["a text", { error: message, code: "internal" }],
    ["an array", { error: [{ message }] }],
    ["flat", { object: "error", message, code: 500 }],
    ["under detail", { detail: [{ loc: ["body"], msg: message }] }],
  ])("is read as %s", (_form, chunk) => {
    const events = readChunks(text("a"), chunk, FINISH);
    expect(addUp(events)).toMatchObject({ text: "a", end: "upstream_error" });
    expect(errorOf(events).message).toBe(message);
  });

  it("is read by the name of its event", () => {
    const events = readText(`event: error\ndata: {"message":"${message}"}\n\n`);
    expect(errorOf(events).message).toBe(message);
  });

  it("S11: comes first of all when nothing came before it", () => {
    expect(readChunks({ error: { message } }).map(({ type }) => type)).toEqual(["error"]);
  });

  it.each([
    [400, "invalid_value"],
    [429, "rate_limit_exceeded"],
    [503, "overloaded"],
    [504, "upstream_timeout"],
    ["500", "upstream_error"],
    [null, "upstream_error"],
    ["rate_limit_exceeded", "rate_limit_exceeded"],
    ["insufficient_quota", "rate_limit_exceeded"],
    ["server_is_overloaded", "overloaded"],
    ["context_length_exceeded", "context_length_exceeded"],
    ["invalid_prompt", "invalid_value"],
    ["invalid_api_key", "upstream_error"],
    ["server_error", "upstream_error"],
  ])("with the code %s is %s", (code, expected) => {
    expect(errorOf(readChunks({ error: { message, code } })).code).toBe(expected);
  });

  it("about the context is told as such", () => {
    const overflow =
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion).";
    expect(errorOf(readChunks({ error: { message: overflow, code: 400 } })).code).toBe(
      "context_length_exceeded",
    );
  });

  it("names neither addresses nor keys", () => {
    const leaky =
      "connect to http://engine.internal:8000/v1 or 10.0.0.7:8000, [fd00::1]:80, engine-2.internal:9000 failed for sk-abcdefghijkl; see messages[0]";
    const shown = errorOf(readChunks({ error: leaky })).message;
    expect(shown).not.toMatch(/internal|10\.0|8000|fd00|sk-abc/);
    expect(shown).toContain("messages[0]");
  });
});

describe("chunks of other vendors", () => {
  it("may lack keys, a choice, an index, or have more than was asked for", () => {
    const events = readChunks(
      {},
      { choices: [], prompt_filter_results: [{ prompt_index: 0 }] },
      { choices: null },
      { choices: [{}] },
      { choices: [{ delta: { content: "a" } }] },
      {
        choices: [
          { index: 1, delta: { content: "other" } },
          { index: 0, delta: { content: "b" } },
        ],
      },
      { choices: [{ index: 0, delta: { content: null }, finish_reason: "stop" }] },
    );
    expect(addUp(events)).toMatchObject({ text: "ab", end: "stop" });
  });

  it("may bring text and thoughts as parts", () => {
    const thinking = [{ type: "text", text: "Hm" }];
    const content = [
      { type: "thinking", thinking },
      { type: "text", text: "4" },
      { type: "reference" },
    ];
    expect(addUp(readChunks(chunk({ content }), FINISH))).toMatchObject({
      reasoning: "Hm",
      text: "4",
    });
  });

  it("may refuse", () => {
    expect(
      addUp(readChunks(chunk({ refusal: "I " }), chunk({ refusal: "won't" }), FINISH)).refusal,
    ).toBe("I won't");
  });

  it("may follow the one with the finish reason", () => {
    expect(addUp(readChunks(text("a"), FINISH, text("b")))).toMatchObject({
      text: "ab",
      end: "stop",
    });
  });
});

describe("a vendor's own fields in the deltas", () => {
  it("are those of the message, joined, wherever they come", () => {
    const citation = (url: string) => ({ type: "url_citation", url_citation: { url } });
    const events = readChunks(
      text("a"),
      chunk({ content: "b", annotations: [citation("https://a.example")] }),
      text("c"),
      chunk({ annotations: [citation("https://b.example")] }),
      text("d"),
      FINISH,
    );
    expect(addUp(events).text).toBe("abcd");
    expect(endOf(events).extra).toEqual({
      message: { annotations: [citation("https://a.example"), citation("https://b.example")] },
    });
  });
});
