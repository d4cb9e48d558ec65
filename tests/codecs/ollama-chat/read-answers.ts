import { ollamaChatClient } from "../../../src/codecs/ollama-chat/client.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";

export const MAX_EVENT_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** All events of a stream that arrives in these pieces and then ends. */
export function readPieces(pieces: Iterable<Uint8Array>, maxEventBytes = MAX_EVENT_BYTES) {
  const reader = ollamaChatClient.streamReader(maxEventBytes);
  const events: ChatEvent[] = [];
  for (const piece of pieces) events.push(...reader.read(piece));
  events.push(...reader.end());
  const late = [...reader.read(encoder.encode('{"done":true}\n')), ...reader.end()];
  if (late.length > 0) throw new Error("events after the end");
  checkOrder(events);
  return events;
}

export function readText(text: string, maxEventBytes = MAX_EVENT_BYTES) {
  return readPieces([encoder.encode(text)], maxEventBytes);
}

/** Events in a form that can be compared: an error by what a client sees of it. */
export function plain(events: readonly ChatEvent[]): unknown {
  return JSON.parse(
    JSON.stringify(
      events.map((event) =>
        event.type === "error"
          ? { type: "error", error: { code: event.error.code, message: event.error.message } }
          : event,
      ),
    ),
  );
}

export function textOf(events: readonly ChatEvent[]): string {
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("");
}

/** start (block-start delta* block-end)* (finish | error), with an error allowed anywhere. */
export function checkOrder(events: readonly ChatEvent[]): void {
  let open: string | undefined;
  let blocks = 0;
  const shapes = events.map((event) => {
    switch (event.type) {
      case "block-start":
      case "tool-call-start":
        if (event.block !== blocks++) throw new Error(`block ${event.block} is out of turn`);
        open = event.type === "block-start" ? event.kind : "tool-call";
        return "[";
      case "block-end":
        return "]";
      case "start":
      case "finish":
      case "error":
        return event.type;
      default:
        return event.type === `${open}-delta` ? "." : `${event.type} in ${open}`;
    }
  });
  const order = shapes.join("");
  const legal = /^(start(\[\.*\])*(finish|(\[\.*)?error)|error)$/;
  if (!legal.test(order)) throw new Error(`events out of order: ${order}`);
}
