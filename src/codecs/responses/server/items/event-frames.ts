import type { JsonObject } from "../../../../lib/json.ts";

/** Writes the numbered events of one stream. */
export class EventFrames {
  #next = 0;

  /** The number of the event that is about to be written. */
  takeNumber(): number {
    return this.#next++;
  }

  event(type: string, members: JsonObject): string {
    return this.#frame(type, JSON.stringify(members));
  }

  /** An event about the response as a whole, which is JSON text already. */
  response(type: string, response: string): string {
    return this.#frame(type, `{"response":${response}}`);
  }

  #frame(type: string, members: string): string {
    return `${headOf(type)}${this.takeNumber()},${members.slice(1)}\n\n`;
  }
}

/** The event's lines up to its number. */
function headOf(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

/** The deltas of one text. What stands around them is written once; of each only its number and its text are. */
export class DeltaFrames {
  readonly #frames: EventFrames;
  readonly #head: string;
  readonly #place: string;
  readonly #tail: string;

  /** @param rest members that follow the delta, the same in each. */
  constructor(frames: EventFrames, type: string, place: JsonObject, rest: JsonObject = {}) {
    this.#frames = frames;
    this.#head = headOf(type);
    this.#place = `,${JSON.stringify(place).slice(1, -1)},"delta":`;
    const members = JSON.stringify(rest).slice(1, -1);
    this.#tail = `${members === "" ? "" : ","}${members}}\n\n`;
  }

  write(delta: string): string {
    return (
      this.#head + this.#frames.takeNumber() + this.#place + JSON.stringify(delta) + this.#tail
    );
  }
}
