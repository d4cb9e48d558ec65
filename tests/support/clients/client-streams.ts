import type { ClientCodec } from "../../../src/codecs/codec.ts";
import type { ChatEvent } from "../../../src/core/chat/chat-event.ts";
import { checkEventOrder } from "../check-event-order.ts";

const MAX_EVENT_BYTES = 1024 * 1024;

const encoder = new TextEncoder();

/** All events of a stream that arrives in these pieces and then ends. Throws when they break the promised order. */
export function readPieces(
  codec: ClientCodec,
  pieces: Iterable<Uint8Array>,
  maxEventBytes = MAX_EVENT_BYTES,
): ChatEvent[] {
  const reader = codec.streamReader(maxEventBytes);
  const events: ChatEvent[] = [];
  for (const piece of pieces) events.push(...reader.read(piece));
  events.push(...reader.end());
  const late = [...reader.read(encoder.encode('data: {"type":"ping"}\n\n')), ...reader.end()];
  if (late.length > 0) throw new Error("events after the end");
  checkEventOrder(events);
  return events;
}

export function readStream(codec: ClientCodec, text: string, maxEventBytes?: number): ChatEvent[] {
  return readPieces(codec, [encoder.encode(text)], maxEventBytes);
}

/** Events in a form that can be compared: an error by what a client sees of it. */
function plain(events: readonly ChatEvent[]): string {
  return JSON.stringify(events, (key, value) =>
    key === "error" ? { code: value.code, message: value.message } : value,
  );
}

/** So far lie the cuts of one reading apart. */
const CUT_EVERY_BYTES = 256;

/** Throws when a stream reads differently in one of: pieces cut at any byte, single bytes, other line ends. */
export function expectSameHoweverCut(codec: ClientCodec, bytes: Uint8Array): void {
  const whole = plain(readPieces(codec, [bytes]));
  const expectSame = (pieces: readonly Uint8Array[], how: string) => {
    const read = plain(readPieces(codec, pieces));
    if (read !== whole) throw new Error(`${how} gives ${read} and not ${whole}`);
  };
  for (let first = 1; first <= CUT_EVERY_BYTES && first < bytes.length; first++) {
    const pieces = [bytes.subarray(0, first)];
    for (let at = first; at < bytes.length; at += CUT_EVERY_BYTES) {
      pieces.push(bytes.subarray(at, at + CUT_EVERY_BYTES));
    }
    expectSame(pieces, `cut from ${first} on`);
  }
  const singly = (text: Uint8Array) => Array.from(text, (_, at) => text.subarray(at, at + 1));
  expectSame(singly(bytes), "byte by byte");
  const lines = new TextDecoder().decode(bytes).replaceAll("\r\n", "\n");
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = encoder.encode(lines.replaceAll("\n", end));
    expectSame([text], `lines with ${JSON.stringify(end)}`);
    expectSame(singly(text), `lines with ${JSON.stringify(end)} byte by byte`);
  }
}

export interface ReadAnswer {
  text: string;
  reasoning: string;
  readonly calls: {
    readonly id: string;
    readonly name: string;
    readonly signature: string | undefined;
    arguments: string;
  }[];
  readonly seals: (string | undefined)[];
  /** The finish reason, or the error's code. */
  end: string | undefined;
}

/** What the events add up to, by simpler means than those of the gateway. */
export function addUp(events: readonly ChatEvent[]): ReadAnswer {
  const answer: ReadAnswer = { text: "", reasoning: "", calls: [], seals: [], end: undefined };
  const calls = new Map<number, ReadAnswer["calls"][number]>();
  for (const event of events) {
    switch (event.type) {
      case "text-delta":
        answer.text += event.text;
        break;
      case "reasoning-delta":
        answer.reasoning += event.text;
        break;
      case "signature":
        answer.seals.push(event.signature ?? event.redacted);
        break;
      case "tool-call-start": {
        const { callId: id, name, signature } = event;
        calls.set(event.block, { id, name, signature, arguments: "" });
        break;
      }
      case "tool-call-delta":
        calls.get(event.block)!.arguments += event.arguments;
        break;
      case "finish":
        answer.end = event.reason;
        break;
      case "error":
        answer.end = event.error.code;
        break;
      default:
        break;
    }
  }
  return { ...answer, calls: [...calls.values()] };
}
