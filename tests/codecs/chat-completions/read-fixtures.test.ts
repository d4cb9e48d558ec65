import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { chatCompletionsClient } from "../../../src/codecs/chat-completions/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";
import { readSharedFixtures } from "../../support/shared-fixtures.ts";
import { addUp, plain, type ReadAnswer, readPieces } from "./read-streams.ts";

const VENDORS = ["vllm", "openai-chat", "compatible", "deepseek", "mistral", "xai"];
const OWN_FOLDER = resolve(import.meta.dirname, "../../fixtures/chat-completions");

interface Sample {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const streams: readonly Sample[] = [
  ...readdirSync(OWN_FOLDER).map((name) => ({
    name,
    bytes: new Uint8Array(readFileSync(join(OWN_FOLDER, name))),
  })),
  ...readSharedFixtures(VENDORS, ".sse"),
];

describe("every recorded stream", () => {
  describe.each(streams)("$name", ({ bytes }) => {
    const whole = readPieces([bytes]);
    const expected = plain(whole);

    it("is read as a reader that knows nothing of events would read it", () => {
      expect(addUp(whole)).toEqual(readNaively(decode(bytes)));
    });

    it("gives the same events when it is split at any byte", () => {
      for (let at = 1; at < bytes.length; at++) {
        const events = readPieces([bytes.subarray(0, at), bytes.subarray(at)]);
        if (plain(events) !== expected) expect({ at, events }).toEqual({ at, events: whole });
      }
    });

    it.each([
      ["LF", "\n"],
      ["CR", "\r"],
      ["CRLF", "\r\n"],
    ])("gives the same events with %s, whole and byte by byte", (_name, lineEnd) => {
      const ended = new TextEncoder().encode(decode(bytes).replaceAll(/\r\n|\r|\n/g, lineEnd));
      expect(plain(readPieces([ended]))).toBe(expected);
      expect(plain(readPieces(cut(ended, 1)))).toBe(expected);
      expect(plain(readPieces(cut(ended, 7)))).toBe(expected);
    });

    it("gives the same events after a byte order mark", () => {
      const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...bytes]);
      expect(plain(readPieces([marked]))).toBe(expected);
      expect(plain(readPieces(cut(marked, 1)))).toBe(expected);
    });
  });
});

const answers = readSharedFixtures([...VENDORS, "ollama"], ".json").filter(
  ({ name, url, bytes }) =>
    (name.endsWith(".response.json")
      ? url?.endsWith("/chat/completions")
      : !name.endsWith(".meta.json")) && decode(bytes).includes('"choices"'),
);

if (answers.length > 0) {
  describe("every recorded answer", () => {
    it.each(answers)("$name is read as it stands there", ({ bytes }) => {
      const text = decode(bytes);
      const events = chatCompletionsClient.readAnswer(text);
      checkEventOrder(events);
      const { message, finish_reason } = JSON.parse(text).choices[0];
      expect(addUp(events)).toEqual(
        withMadeIds(events, {
          ...addMessage(emptyAnswer(), message),
          end: reasonOf(finish_reason, message.tool_calls?.length > 0),
        }),
      );
      expect(usageOf(events)?.inputTokens).toBe(JSON.parse(text).usage.prompt_tokens);
    });
  });
}

const refusals = readSharedFixtures(VENDORS, ".json").filter(({ bytes }) =>
  isRefusal(JSON.parse(decode(bytes))),
);

if (refusals.length > 0) {
  it.each(refusals)("the recorded refusal $name is read to its message", ({ bytes }) => {
    const { message } = JSON.parse(decode(bytes)).error;
    expect(chatCompletionsClient.readErrorMessage(decode(bytes))).toBe(message);
  });
}

function isRefusal({ error }: { readonly error?: { readonly message?: unknown } | null }): boolean {
  return typeof error?.message === "string";
}

function readNaively(text: string): ReadAnswer {
  const answer = emptyAnswer();
  let reason: string | undefined;
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: {")) continue;
    const { choices, error } = JSON.parse(line.slice("data: ".length));
    if (error !== undefined) return { ...answer, end: "upstream_error" };
    if (choices[0] === undefined) continue;
    addMessage(answer, choices[0].delta);
    reason = choices[0].finish_reason ?? reason;
  }
  return { ...answer, end: reasonOf(reason, answer.calls.length > 0) };
}

interface RecordedMessage {
  readonly content?:
    | string
    | null
    | readonly {
        readonly text?: string;
        readonly thinking?: readonly { readonly text: string }[];
      }[];
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
  readonly tool_calls?:
    | null
    | readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function: { readonly name?: string; readonly arguments: string };
      }[];
}

function addMessage(answer: ReadAnswer, message: RecordedMessage): ReadAnswer {
  const { content } = message;
  const parts = typeof content === "string" ? [{ text: content }] : (content ?? []);
  for (const part of parts) {
    if ("thinking" in part) answer.reasoning += part.thinking?.map(({ text }) => text).join("");
    answer.text += part.text ?? "";
  }
  answer.reasoning += message.reasoning_content ?? message.reasoning ?? "";
  for (const { id, index, function: called } of message.tool_calls ?? []) {
    if (id !== undefined) answer.calls.push({ id, name: called.name ?? "", arguments: "" });
    // A call's index is its place here, except where a vendor begins to count at 1.
    const last = answer.calls.length - 1;
    answer.calls[Math.min(index ?? last, last)]!.arguments += called.arguments;
  }
  return answer;
}

function emptyAnswer(): ReadAnswer {
  return { text: "", reasoning: "", refusal: "", calls: [], end: undefined };
}

function reasonOf(word: string | undefined, hasCalls: boolean): string | undefined {
  return hasCalls ? "tool-calls" : word;
}

/** A vendor that gives no id gets ours. */
function withMadeIds(events: readonly ChatEvent[], answer: ReadAnswer): ReadAnswer {
  const made = addUp(events).calls;
  const calls = answer.calls.map((call, index) => {
    if (call.id !== "") return call;
    expect(made[index]?.id).toMatch(/^call_[\w-]{1,59}$/);
    return { ...call, id: made[index]?.id ?? "" };
  });
  return { ...answer, calls };
}

function usageOf(events: readonly ChatEvent[]) {
  const last = events.at(-1);
  return last?.type === "finish" ? last.usage : undefined;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function* cut(bytes: Uint8Array, size: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
