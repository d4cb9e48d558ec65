import { responsesClient } from "../../../src/codecs/responses/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../../support/check-event-order.ts";

const MAX_EVENT_BYTES = 1024 * 1024;
const utf8 = new TextEncoder();

/** All events of a stream that arrives in these pieces and then ends. */
export function readPieces(
  pieces: Iterable<Uint8Array>,
  maxEventBytes = MAX_EVENT_BYTES,
): ChatEvent[] {
  const reader = responsesClient.streamReader(maxEventBytes);
  const events: ChatEvent[] = [];
  for (const piece of pieces) events.push(...reader.read(piece));
  events.push(...reader.end());
  const late = [...reader.read(utf8.encode(toFrame({ type: "error" }))), ...reader.end()];
  if (late.length > 0) throw new Error("events after the end");
  checkEventOrder(events);
  return events;
}

export function readText(text: string, maxEventBytes = MAX_EVENT_BYTES): ChatEvent[] {
  return readPieces([utf8.encode(text)], maxEventBytes);
}

/** Reads a stream of these events and no others. */
export function readEvents(...events: readonly object[]): ChatEvent[] {
  return readText(events.map(toFrame).join(""));
}

/** An event as it is sent, under its name. */
export function toFrame(event: object): string {
  const name = "type" in event ? `event: ${event.type}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

export const CREATED = { type: "response.created", response: { id: "resp_1", output: [] } };

export function added(output_index: number, item: object): object {
  return { type: "response.output_item.added", output_index, item };
}

export function done(output_index: number, item: object): object {
  return { type: "response.output_item.done", output_index, item };
}

export function completed(...output: readonly object[]): object {
  return { type: "response.completed", response: { id: "resp_1", status: "completed", output } };
}

/** The events in a form that can be compared: pieces of one block joined, an error by what a client sees of it. */
export function joined(events: readonly ChatEvent[]): unknown[] {
  const plain: Record<string, unknown>[] = JSON.parse(plainText(events));
  const kept: Record<string, unknown>[] = [];
  for (const event of plain) {
    const last = kept.at(-1);
    const goesOn = last?.["type"] === event["type"] && last?.["block"] === event["block"];
    const field = "text" in event ? "text" : "arguments";
    if (goesOn && last !== undefined) last[field] = `${last[field]}${event[field]}`;
    else kept.push({ ...event });
  }
  return kept;
}

export function plainText(events: readonly ChatEvent[]): string {
  return JSON.stringify(events, (key, value) =>
    key === "error" ? { code: value.code, message: value.message } : value,
  );
}

/** The arguments of the calls, in the order of their start. */
export function argumentsIn(events: readonly ChatEvent[]): string[] {
  const calls = new Map<number, string>();
  for (const event of events) {
    if (event.type === "tool-call-start") calls.set(event.block, "");
    if (event.type === "tool-call-delta") {
      calls.set(event.block, `${calls.get(event.block)}${event.arguments}`);
    }
  }
  return [...calls.values()];
}
