import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { responsesClient } from "../../../src/codecs/responses/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { createRandom } from "../chat-completions/read-streams.ts";
import { argumentsIn, plainText, readPieces } from "./read-streams.ts";

const OWN_FOLDER = resolve(import.meta.dirname, "../../fixtures/responses");
/** Of a longer stream not every byte is tried alone; all are when it comes byte by byte. */
const MAX_SPLITS = 3000;

const streams = [
  ...readdirSync(OWN_FOLDER).map((name) => ({
    name,
    bytes: new Uint8Array(readFileSync(join(OWN_FOLDER, name))),
  })),
  ...readSharedFixtures(["openai-responses"], ".sse"),
].map(({ name, bytes }) => ({ name, bytes: firstAnswerIn(bytes) }));

describe("every recorded stream", () => {
  describe.each(streams)("$name", ({ bytes }) => {
    const whole = readPieces([bytes]);
    const expected = plainText(whole);

    it("says what its last event says", () => {
      expect(summed(whole)).toEqual(readLast(decode(bytes)));
    });

    it("gives the same events when it is split anywhere", () => {
      const step = Math.ceil(bytes.length / MAX_SPLITS);
      for (let at = 1; at < bytes.length; at += step) {
        const events = readPieces([bytes.subarray(0, at), bytes.subarray(at)]);
        if (plainText(events) !== expected) expect({ at, events }).toEqual({ at, events: whole });
      }
    });

    it.each([
      ["LF", "\n"],
      ["CR", "\r"],
      ["CRLF", "\r\n"],
    ])("gives the same events with %s, whole and byte by byte", (_name, lineEnd) => {
      const ended = new TextEncoder().encode(decode(bytes).replaceAll(/\r\n|\r|\n/g, lineEnd));
      for (const size of [ended.length, 7, 1]) {
        expect(plainText(readPieces(cut(ended, size)))).toBe(expected);
      }
    });

    it("S04: is an error wherever it breaks off before its last event", () => {
      const frames = decode(bytes).split("\n\n").filter(Boolean);
      const isFailure = whole.at(-1)?.type === "error";
      for (let kept = 0; kept < frames.length - (isFailure ? 2 : 1); kept++) {
        const text = frames.slice(0, kept).map((frame) => `${frame}\n\n`);
        const events = readPieces([new TextEncoder().encode(text.join(""))]);
        expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "upstream_error" } });
      }
    });
  });
});

describe("a damaged stream", () => {
  it.each(streams.slice(0, 2))(
    "S09: of $name ends once and in order, whatever is wrong",
    ({ bytes }) => {
      const random = createRandom(7);
      for (let round = 0; round < trialSize(50, 500); round++) {
        const damaged = Uint8Array.from(bytes);
        for (let hits = random(4); hits >= 0; hits--) damaged[random(bytes.length)] = random(256);
        const from = random(bytes.length);
        const without = random(3) === 0 ? random(300) : 0;
        // Order and end are checked in there.
        readPieces([damaged.subarray(0, from), damaged.subarray(from + without)]);
      }
    },
  );
});

const answers = readSharedFixtures(["openai-responses", "mistral"], ".response.json").filter(
  ({ bytes }) => decode(bytes).includes('"object": "response",'),
);

if (answers.length > 0) {
  describe("every recorded answer", () => {
    it.each(answers)("$name", ({ bytes }) => {
      const text = decode(bytes);
      const events = responsesClient.readAnswer(text);
      checkEventOrder(events);
      expect(summed(events)).toEqual(summedResponse(JSON.parse(text)));
    });
  });

  describe("every recorded refusal", () => {
    const refusals = readSharedFixtures(["openai-responses", "openai-chat"], ".json").filter(
      ({ bytes }) => JSON.parse(decode(bytes)).error?.message !== undefined,
    );
    it.each(refusals)("$name is read to its message", ({ bytes }) => {
      const { error } = JSON.parse(decode(bytes));
      expect(responsesClient.readErrorMessage(decode(bytes))).toBe(error.message);
    });
  });
}

interface Summed {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: string;
  }[];
  readonly seals: readonly string[];
  readonly tokens: readonly unknown[];
  readonly end: string;
}

function summed(events: readonly ChatEvent[]): Summed {
  const textOf = (type: ChatEvent["type"]) =>
    events.map((event) => (event.type === type && "text" in event ? event.text : "")).join("");
  const texts = argumentsIn(events);
  const calls = events
    .filter((event) => event.type === "tool-call-start")
    .map(({ callId, name }, index) => ({ id: callId, name, arguments: texts[index] ?? "" }));
  const seals = events.flatMap((event) =>
    event.type === "signature" ? [event.signature ?? event.redacted ?? ""] : [],
  );
  const last = events.at(-1);
  const { usage, reason } = last?.type === "finish" ? last : { usage: undefined, reason: "error" };
  return {
    text: textOf("text-delta"),
    reasoning: textOf("reasoning-delta"),
    refusal: textOf("refusal-delta"),
    calls,
    seals,
    tokens: [usage?.inputTokens, usage?.outputTokens],
    end: reason,
  };
}

/** The whole response of the event that ends a stream, read by simpler means than those of the gateway. */
function readLast(text: string): Summed {
  const events = text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)));
  return summedResponse(events.findLast(({ response }) => response !== undefined).response);
}

interface RecordedItem {
  readonly type: string;
  readonly id: string;
  readonly content?: readonly {
    readonly type: string;
    readonly text: string;
    readonly refusal: string;
  }[];
  readonly summary?: readonly { readonly text: string }[];
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly input: string;
  readonly encrypted_content?: string;
}

interface RecordedResponse {
  readonly output: readonly RecordedItem[];
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
  readonly status: string;
  readonly incomplete_details?: { readonly reason: string } | null;
}

const ENDS = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
]);

function summedResponse({ output, usage, status, ...rest }: RecordedResponse): Summed {
  const parts = output.flatMap(({ content = [] }) => content);
  const textOf = (type: string) =>
    parts.map((part) => (part.type === type ? (part.text ?? part.refusal) : "")).join("");
  const summaries = output.map(({ summary = [] }) => summary.map(({ text }) => text).join("\n\n"));
  const calls = output.filter(({ type }) => type.endsWith("_call") && type !== "web_search_call");
  const ended = calls.length > 0 ? "tool-calls" : "stop";
  return {
    text: textOf("output_text"),
    reasoning: summaries.join("") + textOf("reasoning_text"),
    refusal: textOf("refusal"),
    calls: calls.map((call) => ({
      id: call.call_id,
      name: call.name,
      arguments: call.arguments ?? JSON.stringify({ input: call.input }),
    })),
    // A vendor seals an item anew whenever it tells of it.
    seals: output
      .filter(({ encrypted_content }) => encrypted_content !== undefined)
      .map(({ id }) => expect.stringMatching(new RegExp(`^openai\\.${id}:.`))),
    tokens: [usage?.input_tokens, usage?.output_tokens],
    end: status === "failed" ? "error" : (ENDS.get(rest.incomplete_details?.reason ?? "") ?? ended),
  };
}

/** Some recordings hold several answers, one after the other. */
function firstAnswerIn(bytes: Uint8Array): Uint8Array {
  const text = decode(bytes);
  const next = text.indexOf("event: response.created", 1);
  return next < 0 ? bytes : new TextEncoder().encode(text.slice(0, next));
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function* cut(bytes: Uint8Array, size: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
