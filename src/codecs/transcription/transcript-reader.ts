import { ServiceError, toServiceError } from "../../core/service-error.ts";
import { SseReader } from "../../lib/http/sse-reader.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { StreamReader } from "../codec.ts";
import { EventWriter } from "../shared/event-writer.ts";
import { readTranscriptUsage, toTokenUsage } from "./transcript-usage.ts";

const DONE = "[DONE]";
const MAX_TRANSCRIPT_CHARACTERS = 16 * 1024 * 1024;

/** Returns the error that an event reports; undefined when it reports none. */
export type ErrorReader = (event: JsonObject) => ServiceError | undefined;

/**
 * Creates a reader for a streamed transcript, in OpenAI's events or in vLLM's chunks. The text becomes deltas; fields
 * without a canonical place are kept in `extra`.
 */
export function createTranscriptReader(
  maxEventBytes: number,
  readError: ErrorReader,
): StreamReader {
  const transcript = new TranscriptReader(readError);
  const { writer } = transcript;
  const attempt = (step: () => void) => {
    try {
      if (!writer.ended) step();
    } catch (thrown) {
      if (!writer.ended) writer.end({ type: "error", error: toServiceError(thrown) });
    }
  };
  const events = new SseReader(maxEventBytes, {
    onEvent(data, name) {
      if (data.trim() === DONE) attempt(() => transcript.complete());
      else if (data.trim() !== "") attempt(() => transcript.read(data, name));
    },
    onTooLong: () => attempt(tooLong),
  });
  return {
    read(bytes) {
      if (!writer.ended) events.read(bytes);
      return writer.take();
    },
    end() {
      if (!writer.ended) events.end();
      attempt(() => transcript.finish());
      return writer.take();
    },
  };
}

class TranscriptReader {
  readonly writer = new EventWriter();
  readonly #readError: ErrorReader;
  #text = "";
  /** The server reported that its text is complete. */
  #isComplete = false;
  #usage: JsonObject | undefined;

  constructor(readError: ErrorReader) {
    this.#readError = readError;
  }

  read(data: string, name: string | undefined): void {
    const event = parseEvent(data);
    const error = this.#readError(name === "error" ? { error: event } : event);
    if (error !== undefined) throw error;
    if (!this.writer.started) this.writer.start();
    const { type, object } = event;
    if (typeof type === "string") this.#readEvent(type, event);
    else if (object === "transcription.chunk") this.#readChunk(event);
    else throw garbled();
  }

  /** Handles the server's end marker. */
  complete(): void {
    if (!this.writer.started) this.writer.start();
    this.#isComplete = true;
    this.finish();
  }

  /** Ends the stream. Throws when the transcript is incomplete. */
  finish(): void {
    if (!this.#isComplete) throw new ServiceError("upstream_error", "The transcript broke off.");
    this.#end({ text: this.#text, ...(this.#usage !== undefined && { usage: this.#usage }) });
  }

  #readEvent(type: string, { type: _type, ...fields }: JsonObject): void {
    switch (type) {
      case "transcript.text.delta":
        this.#readDelta(fields);
        return;
      case "transcript.text.done":
        if (typeof fields["text"] !== "string") throw garbled();
        this.#end(fields);
        return;
      default:
        // For example the segments of a transcript with speakers.
        if (!type.startsWith("transcript.")) throw garbled();
        this.writer.delta("text", "", { type, ...fields });
    }
  }

  #readDelta({ delta, ...extra }: JsonObject): void {
    if (typeof delta !== "string") throw garbled();
    this.#add(delta, Object.keys(extra).length === 0 ? undefined : extra);
  }

  #readChunk({ choices, usage }: JsonObject): void {
    this.#usage = toTokenUsage(usage) ?? this.#usage;
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    const { delta, finish_reason } = choice;
    const { content } = isJsonObject(delta) ? delta : {};
    if (typeof content === "string" && content !== "") this.#add(content, undefined);
    if (typeof finish_reason === "string") this.#isComplete = true;
  }

  #add(text: string, extra: JsonObject | undefined): void {
    this.#text += text;
    if (this.#text.length > MAX_TRANSCRIPT_CHARACTERS) tooLong();
    this.writer.delta("text", text, extra);
  }

  #end(extra: JsonObject): void {
    this.writer.end({
      type: "finish",
      reason: "stop",
      usage: readTranscriptUsage(extra["usage"]),
      extra,
    });
  }
}

function parseEvent(data: string): JsonObject {
  try {
    const event: unknown = JSON.parse(data);
    if (isJsonObject(event)) return event;
  } catch {
    // The text may hold a message of the engine, but it may also hold anything else.
  }
  throw garbled();
}

function tooLong(): never {
  throw new ServiceError("upstream_error", "The server sent an event that is too long.");
}

function garbled(): ServiceError {
  return new ServiceError("upstream_error", "The server sent something other than a transcript.");
}
