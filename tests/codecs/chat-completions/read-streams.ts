import { createStreamReader } from "../../../src/codecs/chat-completions/client/client-stream.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { apart } from "../../support/apart.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";

export const MAX_EVENT_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** All events of a stream that arrives in these pieces and then ends. */
export function readPieces(
  pieces: Iterable<Uint8Array>,
  maxEventBytes = MAX_EVENT_BYTES,
): ChatEvent[] {
  const reader = createStreamReader(maxEventBytes);
  const events: ChatEvent[] = [];
  for (const piece of pieces) events.push(...reader.read(piece));
  events.push(...reader.end());
  const late = [...reader.read(encoder.encode('data: {"choices":[]}\n\n')), ...reader.end()];
  if (late.length > 0) throw new Error("events after the end");
  checkEventOrder(events);
  return events;
}

export function readText(text: string, maxEventBytes = MAX_EVENT_BYTES): ChatEvent[] {
  return readPieces([encoder.encode(text)], maxEventBytes);
}

/** Reads a stream of these chunks, each a JSON value or a text that stands in its place, and `[DONE]` after them. */
export function readChunks(...chunks: readonly unknown[]): ChatEvent[] {
  return readText(`${chunks.map(toFrame).join("")}data: [DONE]\n\n`);
}

export function toFrame(chunk: unknown): string {
  return `data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`;
}

/** A chunk with one choice. */
export function chunk(delta: object, rest: object = {}): object {
  return { id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: null, ...rest }] };
}

export const FINISH = chunk({}, { finish_reason: "stop" });

export interface ReadAnswer {
  text: string;
  reasoning: string;
  refusal: string;
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[];
  /** The finish reason, or the error's code. */
  end: string | undefined;
}

/** What the events add up to, by simpler means than those of the gateway. */
export function addUp(events: readonly ChatEvent[]): ReadAnswer {
  const answer: ReadAnswer = { text: "", reasoning: "", refusal: "", calls: [], end: undefined };
  const calls = new Map<number, ReadAnswer["calls"][number]>();
  for (const event of events) {
    if (event.type === "text-delta") answer.text += event.text;
    if (event.type === "reasoning-delta") answer.reasoning += event.text;
    if (event.type === "refusal-delta") answer.refusal += event.text;
    if (event.type === "tool-call-start") {
      const call = { id: event.callId, name: event.name, arguments: "" };
      calls.set(event.block, call);
      answer.calls.push(call);
    }
    if (event.type === "tool-call-delta") calls.get(event.block)!.arguments += event.arguments;
    if (event.type === "finish") answer.end = event.reason;
    if (event.type === "error") answer.end = event.error.code;
  }
  return answer;
}

/** Events in a form that can be compared: an error by what a client sees of it. */
export function plain(events: readonly ChatEvent[]): string {
  return JSON.stringify(apart(events), (key, value) =>
    key === "error" ? { code: value.code, message: value.message } : value,
  );
}

/** A repeatable source of chance: numbers from 0 up to `below`. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
