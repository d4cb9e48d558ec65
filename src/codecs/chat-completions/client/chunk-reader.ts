import type { FinishReason } from "../../../core/chat/chat-event.ts";
import type { Usage } from "../../../core/chat/usage.ts";
import { ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { readChunkError, toEngineError } from "../../shared/errors/openai-errors.ts";
import { EventWriter } from "../../shared/event-writer.ts";
import { joinExtras, pickExtras, readExtras } from "../extras.ts";
import { isCut, readFinishReason } from "../finish-reasons.ts";
import { DeltaReader } from "./delta-reader.ts";
import { readUsage } from "./read-usage.ts";
import {
  findChoice,
  KNOWN_CHOICE_FIELDS,
  KNOWN_CHUNK_FIELDS,
  KNOWN_MESSAGE_FIELDS,
  TOKEN_FIELDS,
  type WireChoice,
  type WireChunk,
} from "./wire-chunk.ts";

/**
 * Reads the chunks of one answer. A complete answer is read as a single chunk whose delta is its message. Throws a
 * `ServiceError` for an error that the engine reports and for anything that is not an answer.
 */
export class ChunkReader {
  readonly writer = new EventWriter();
  readonly #deltas = new DeltaReader(this.writer);
  #seed = "";
  #finishExtras: JsonObject | undefined;
  /** The vendor's own fields of the message, such as citations, from all its deltas. */
  readonly #messageExtras: JsonObject[] = [];
  #stopSequence: string | undefined;
  #reason: FinishReason | undefined;
  #usage: Usage | undefined;

  /** True after the engine reported why it stopped. */
  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  /**
   * Reads one chunk of a stream. Returns true when the chunk brought only a piece of the open text or reasoning block:
   * with another piece in its place, it would bring only that one.
   */
  read(json: unknown): boolean {
    const chunk = this.#open(json);
    const { choices, usage, x_groq } = chunk;
    const wasPastThinking = this.#deltas.isPastThinking;
    const written = this.writer.length;
    const choice = findChoice(choices);
    const isBare = choice === undefined || this.#readChoice(choice);
    const counted = readUsage(usage) ?? readUsageOfGroq(x_groq);
    this.#usage = counted ?? this.#usage;
    return isBare && counted === undefined && wasPastThinking && this.writer.length === written + 1;
  }

  /** Reads a non-streaming answer to its end. */
  readWhole(json: unknown): void {
    const { choices, usage, x_groq } = this.#open(json);
    const { message, ...choice } = findChoice(choices) ?? {};
    if (!isJsonObject(message)) throw garbage();
    this.#deltas.read(message, this.#seed);
    this.#keepMessageExtras(message);
    this.#finishExtras = readExtras(choice, KNOWN_CHOICE_FIELDS);
    this.#readEnd(choice);
    this.#usage = readUsage(usage) ?? readUsageOfGroq(x_groq) ?? this.#usage;
    this.finish();
  }

  /** Writes the end of the answer, after the last chunk. */
  finish(): void {
    const lateExtras = this.#deltas.end();
    const messageExtras = joinExtras(this.#messageExtras);
    const reason = this.#reason ?? "stop";
    this.writer.end({
      type: "finish",
      reason: this.#reasonOf(reason),
      stopSequence: this.#stopSequence,
      usage: this.#usage,
      extra: joinExtras([
        lateExtras,
        this.#finishExtras,
        messageExtras && { message: messageExtras },
      ]),
    });
  }

  #reasonOf(reason: FinishReason): FinishReason {
    // Arguments cut off by a limit may be incomplete: the client must know.
    if (this.#deltas.hasCalls) return isCut(reason) ? reason : "tool-calls";
    // Engines that were told to call a tool say so also when they could not read a call.
    return reason === "tool-calls" ? "stop" : reason;
  }

  #open(json: unknown): WireChunk {
    if (!isJsonObject(json)) throw garbage();
    const error = readChunkError(json);
    if (error !== undefined) throw error;
    const { id, choices }: WireChunk = json;
    if (choices != null && !Array.isArray(choices)) throw garbage();
    if (!this.writer.started) {
      if (typeof id === "string") this.#seed = id;
      this.writer.start(readExtras(json, KNOWN_CHUNK_FIELDS));
    }
    return json;
  }

  /** Returns true when the choice brought only its delta. */
  #readChoice(choice: JsonObject): boolean {
    const { delta, message, finish_reason }: WireChoice = choice;
    const isLast = typeof finish_reason === "string" && finish_reason !== "";
    const extras = readExtras(choice, KNOWN_CHOICE_FIELDS);
    if (extras !== undefined) this.#keepExtras(extras, isLast);
    const content = delta ?? message;
    const isPlain = !isJsonObject(content) || this.#readDelta(content);
    this.#readEnd(choice);
    return isPlain && extras === undefined && !isLast;
  }

  /** Returns true when the delta brought no fields of the vendor's own. */
  #readDelta(delta: JsonObject): boolean {
    this.#deltas.read(delta, this.#seed);
    return !this.#keepMessageExtras(delta);
  }

  /** Returns true when there are any. */
  #keepMessageExtras(message: JsonObject): boolean {
    const extras = readExtras(message, KNOWN_MESSAGE_FIELDS);
    if (extras !== undefined) this.#messageExtras.push(extras);
    return extras !== undefined;
  }

  #keepExtras(extras: JsonObject, isLast: boolean): void {
    const ofTokens = isLast ? pickExtras(extras, (name) => TOKEN_FIELDS.has(name)) : extras;
    if (ofTokens !== undefined) this.#deltas.keepExtras(ofTokens);
    if (isLast) this.#finishExtras = pickExtras(extras, (name) => !TOKEN_FIELDS.has(name));
  }

  #readEnd({ finish_reason: word, stop_reason: stop, error, usage }: WireChoice): void {
    if (error) throw toEngineError(error);
    if (typeof word !== "string" || word === "") return;
    this.#usage = readUsage(usage) ?? this.#usage;
    const reason = readFinishReason(word);
    if (reason === "failure") {
      throw new ServiceError("upstream_error", "The engine aborted this answer.");
    }
    const metStopSequence = reason === "stop" && typeof stop === "string";
    this.#reason = metStopSequence ? "stop-sequence" : reason;
    this.#stopSequence = metStopSequence ? stop : undefined;
  }
}

/** Returns the error for data that is not an answer. */
export function garbage(cause?: unknown): ServiceError {
  return new ServiceError("upstream_error", "The engine sent something that is not an answer.", {
    cause,
  });
}

function readUsageOfGroq(groq: unknown): Usage | undefined {
  if (!isJsonObject(groq)) return undefined;
  const { usage } = groq;
  return readUsage(usage);
}
