import { describe, expect, it } from "vitest";
import { readChunkError } from "../../../src/codecs/shared/errors/openai-errors.ts";
import { createTranscriptReader } from "../../../src/codecs/transcription/transcript-reader.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";

const DELTA = { type: "transcript.text.delta", delta: "Grüße ☃ 🎧", logprobs: [{ token: "G" }] };
const DONE = {
  type: "transcript.text.done",
  text: "Grüße ☃ 🎧",
  usage: { type: "tokens", input_tokens: 5, output_tokens: 3, total_tokens: 8 },
};

const frames = (...events: readonly unknown[]) =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(""));
const piece = (choice: unknown, usage?: unknown) => ({
  object: "transcription.chunk",
  choices: choice === undefined ? [] : [choice],
  usage,
});

function read(bytes: Uint8Array, size = bytes.length): readonly ChatEvent[] {
  const reader = createTranscriptReader(10_000, readChunkError);
  const events: ChatEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    events.push(...reader.read(bytes.subarray(at, at + size)));
  }
  events.push(...reader.end());
  return events;
}

const lastOf = (events: readonly ChatEvent[]) => events.at(-1);
const textOf = (events: readonly ChatEvent[]) =>
  events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");

describe("A stream of a transcript", () => {
  it("is read the same wherever its bytes are cut", () => {
    for (const bytes of [
      frames(DELTA, DELTA, DONE),
      Buffer.concat([
        frames(piece({ delta: { content: "Grüße" } }), piece({ finish_reason: "stop" })),
        Buffer.from("data: [DONE]\n\n"),
      ]),
    ]) {
      const whole = read(bytes);
      checkEventOrder(whole);
      expect(lastOf(whole)).toMatchObject({ type: "finish" });
      for (let size = 1; size < bytes.length; size++) {
        const cut = read(bytes, size);
        expect(cut).toEqual(whole);
      }
    }
  });

  it("carries the further fields of OpenAI's events along", () => {
    expect(read(frames(DELTA, DONE))).toMatchObject([
      { type: "start" },
      { type: "block-start" },
      { type: "text-delta", text: "Grüße ☃ 🎧", extra: { logprobs: [{ token: "G" }] } },
      { type: "block-end" },
      {
        type: "finish",
        usage: { inputTokens: 5, outputTokens: 3 },
        extra: { text: "Grüße ☃ 🎧", usage: DONE.usage },
      },
    ]);
  });

  it("has no tokens when the server tells seconds", () => {
    const done = { ...DONE, usage: { type: "duration", seconds: 9 } };
    const last = lastOf(read(frames(DELTA, done)));
    expect(last).toMatchObject({ type: "finish", extra: { usage: done.usage } });
    expect(last).not.toMatchObject({ usage: { inputTokens: expect.any(Number) } });
  });

  it("puts vLLM's pieces together, whether or not figures follow", () => {
    const pieces = [
      piece({ delta: { role: "assistant", content: "" } }),
      piece({ delta: { content: "Hel" } }),
      piece({ delta: { content: "lo" }, finish_reason: "stop" }),
    ];
    const plain = read(frames(...pieces));
    expect(textOf(plain)).toBe("Hello");
    expect(lastOf(plain)).toMatchObject({ type: "finish", extra: { text: "Hello" } });
    const counted = piece(undefined, { prompt_tokens: 4, completion_tokens: 2 });
    expect(lastOf(read(frames(...pieces, counted)))).toMatchObject({
      usage: { inputTokens: 4, outputTokens: 2 },
      extra: { usage: { type: "tokens", input_tokens: 4, output_tokens: 2, total_tokens: 6 } },
    });
  });

  it.each<[string, Uint8Array, string]>([
    ["nothing at all", Buffer.alloc(0), "upstream_error"],
    ["no end", frames(DELTA), "upstream_error"],
    ["no end of vLLM's", frames(piece({ delta: { content: "a" } })), "upstream_error"],
    ["garbage", Buffer.from("data: <html>\n\n"), "upstream_error"],
    ["null", Buffer.from("data: null\n\n"), "upstream_error"],
    ["a list", Buffer.from("data: []\n\n"), "upstream_error"],
    ["something else", frames({ type: "response.created" }), "upstream_error"],
    ["a delta without text", frames({ type: "transcript.text.delta" }), "upstream_error"],
    ["an end without text", frames({ type: "transcript.text.done" }), "upstream_error"],
    ["an event too long", frames({ ...DELTA, delta: "x".repeat(11_000) }), "upstream_error"],
    ["an error", frames({ error: { message: "no", code: 400 } }), "invalid_value"],
    ["a flat error", frames({ object: "error", message: "no", code: 503 }), "overloaded"],
    ["a named error", Buffer.from('event: error\ndata: {"message":"no"}\n\n'), "upstream_error"],
  ])("ends with one error: %s", (_, bytes, code) => {
    for (const size of [1, 5, bytes.length]) {
      const events = read(bytes, size);
      checkEventOrder(events);
      expect(lastOf(events)).toMatchObject({ type: "error", error: { code } });
    }
  });

  it("says nothing after its end", () => {
    expect(read(frames(DELTA, DONE, DELTA, { error: "late" }))).toEqual(read(frames(DELTA, DONE)));
  });
});
