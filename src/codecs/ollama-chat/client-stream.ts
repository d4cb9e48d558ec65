import type { ChatEvent } from "../../core/chat/chat-event.ts";
import { ServiceError, toServiceError } from "../../core/service-error.ts";
import { LineReader } from "../../lib/text/line-reader.ts";
import type { StreamReader } from "../codec.ts";
import { AnswerReader } from "./answer-reader.ts";

/** Reads the lines of a streaming answer. */
export class OllamaStreamReader implements StreamReader {
  readonly #lines: LineReader;
  readonly #answer = new AnswerReader();

  constructor(maxEventBytes: number) {
    this.#lines = new LineReader(maxEventBytes);
  }

  read(bytes: Uint8Array): readonly ChatEvent[] {
    const { writer } = this.#answer;
    if (writer.ended) return [];
    this.#readLines(this.#lines.read(bytes));
    if (this.#lines.tooLong) this.#fail("The engine sent a line that is too long.");
    return writer.take();
  }

  end(): readonly ChatEvent[] {
    const { writer } = this.#answer;
    if (writer.ended) return [];
    this.#readLines(this.#lines.end());
    this.#fail("The engine ended its answer before it was complete.");
    return writer.take();
  }

  #readLines(lines: readonly string[]): void {
    const { writer } = this.#answer;
    for (const line of lines) {
      if (writer.ended) return;
      try {
        if (line.trim() !== "") this.#answer.read(line);
      } catch (error) {
        writer.end({ type: "error", error: toServiceError(error) });
      }
    }
  }

  #fail(message: string): void {
    const { writer } = this.#answer;
    if (writer.ended) return;
    writer.end({ type: "error", error: new ServiceError("upstream_error", message) });
  }
}
