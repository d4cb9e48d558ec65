import type { ChatEvent } from "../../core/chat-event.ts";
import { ServiceError, toServiceError } from "../../core/service-error.ts";
import { LineReader } from "../../lib/line-reader.ts";
import type { StreamReader } from "../codec.ts";
import { AnswerReader } from "./answer-reader.ts";

/** Reads the lines of a streaming answer. */
export class OllamaStreamReader implements StreamReader {
  readonly #lines: LineReader;
  readonly #answer = new AnswerReader();
  #ended = false;

  constructor(maxEventBytes: number) {
    this.#lines = new LineReader(maxEventBytes);
  }

  read(bytes: Uint8Array): readonly ChatEvent[] {
    if (this.#ended) return [];
    const events: ChatEvent[] = [];
    this.#readLines(this.#lines.read(bytes), events);
    if (this.#lines.tooLong) this.#fail("The engine sent a line that is too long.", events);
    return events;
  }

  end(): readonly ChatEvent[] {
    if (this.#ended) return [];
    const events: ChatEvent[] = [];
    this.#readLines(this.#lines.end(), events);
    this.#fail("The engine ended its answer before it was complete.", events);
    return events;
  }

  #readLines(lines: readonly string[], events: ChatEvent[]): void {
    for (const line of lines) {
      if (this.#ended) return;
      try {
        if (line.trim() !== "") this.#answer.read(line, events);
        this.#ended = this.#answer.finished;
      } catch (error) {
        this.#ended = true;
        events.push({ type: "error", error: toServiceError(error) });
      }
    }
  }

  #fail(message: string, events: ChatEvent[]): void {
    if (this.#ended) return;
    this.#ended = true;
    events.push({ type: "error", error: new ServiceError("upstream_error", message) });
  }
}
