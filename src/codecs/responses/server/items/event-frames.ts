import type { DeltaEvent } from "../../../../core/chat/chat-event.ts";
import type { JsonObject } from "../../../../lib/json/json.ts";

/** Writes the numbered events of one stream. */
export class EventFrames {
  #next = 0;

  /** Returns the sequence number of the next event. */
  takeNumber(): number {
    return this.#next++;
  }

  event(type: string, members: JsonObject): string {
    return this.#frame(type, JSON.stringify(members));
  }

  /** Returns an event with the whole response, which is already JSON text, and further members. */
  response(type: string, response: string, members: JsonObject = {}): string {
    const rest = JSON.stringify(members).slice(1, -1);
    return this.#frame(type, `{"response":${response}${rest === "" ? "" : `,${rest}`}}`);
  }

  #frame(type: string, members: string): string {
    return `${headOf(type)}${this.takeNumber()},${members.slice(1)}\n\n`;
  }
}

/** Returns the event's lines up to its sequence number. */
function headOf(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

/** Writes the deltas of one text. The text around them is built once; only the number and the text differ. */
export class DeltaFrames {
  readonly #frames: EventFrames;
  readonly #head: string;
  readonly #place: string;
  readonly #tail: string;

  /** @param rest members after the delta, equal in every event. */
  constructor(frames: EventFrames, type: string, place: JsonObject, rest: JsonObject = {}) {
    this.#frames = frames;
    this.#head = headOf(type);
    this.#place = `,${JSON.stringify(place).slice(1, -1)},"delta":`;
    const members = JSON.stringify(rest).slice(1, -1);
    this.#tail = `${members === "" ? "" : ","}${members}}\n\n`;
  }

  /** Writes an event for each piece. */
  write({ text, literals }: Pick<DeltaEvent, "text" | "literals">): string {
    if (literals === undefined) return this.#event(JSON.stringify(text));
    let events = "";
    for (const literal of literals) events += this.#event(`"${literal}"`);
    return events;
  }

  #event(literal: string): string {
    return this.#head + this.#frames.takeNumber() + this.#place + literal + this.#tail;
  }
}
