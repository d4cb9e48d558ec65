import type { CallerMemory } from "../core/callers/caller-memory.ts";
import type { ChatAnswer } from "../core/chat/chat-answer.ts";
import type { ChatEvent } from "../core/chat/chat-event.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { ClientNames } from "./shared/client-names.ts";

/**
 * A wire format that clients use to call the gateway. Pure: no I/O, no clock, no randomness of its own. `Form` is the
 * part of a request that determines the shape of its answer; only the format itself reads it.
 */
export interface ServerCodec<Form> {
  /**
   * Reads a parsed JSON body. Throws a `ServiceError` that names the invalid field.
   * @param text the body as received: the JSON parser rounds integers beyond 2^53, the text keeps them exact.
   * @param memory what earlier calls of the same caller kept; undefined when nothing is remembered.
   */
  readonly parse: (body: unknown, text: string, memory?: CallerMemory) => ParsedCall<Form>;
  /** Returns the complete answer as the JSON text of a non-streaming response. */
  readonly encodeAnswer: (answer: ChatAnswer, context: AnswerContext, form: Form) => string;
  /** Creates an encoder for one stream. */
  readonly streamEncoder: (context: AnswerContext, form: Form) => StreamEncoder;
  /** The text to write after a period without events, also before the first event. */
  readonly keepalive: string;
  /** Returns the JSON body of an error response. */
  readonly encodeError: (error: ServiceError, requestId: string) => JsonObject;
}

/** Encodes batches of events as the text of one stream. */
export interface StreamEncoder {
  /**
   * Returns the text of one batch, made of complete frames. `finish` and `error` end the stream as the format requires.
   */
  readonly encode: (events: readonly ChatEvent[]) => string;
}

export interface ParsedCall<Form> {
  readonly request: ChatRequest;
  readonly form: Form;
  readonly names: ClientNames;
}

/** What an encoder needs in addition to the events. */
export interface AnswerContext {
  readonly requestId: string;
  /** The id of the answering model, or the name of the assistant, as `GET /v1/models` lists it. */
  readonly model: string;
  /** The model behind an assistant, whose name `model` is then. */
  readonly assistantModel?: string | undefined;
  /** Unix seconds. */
  readonly created: number;
  /** The parts of the request that had no effect, by the client's own names. */
  readonly ignored?: readonly string[] | undefined;
  /** Returns the current time in Unix seconds, for formats that report when an answer was complete. */
  readonly now?: (() => number) | undefined;
}

/** A wire format that the gateway uses to call engines and clouds. Pure. */
export interface ClientCodec {
  /** Returns the JSON body of the call, as text. */
  readonly build: (request: ChatRequest, model: UpstreamModel) => string;
  /** Returns the parameters of a request that `build` cannot express, by their chat-completions names. */
  readonly unsaid?: (request: ChatRequest) => readonly string[];
  /** Creates a reader for one streaming answer. An event larger than `maxEventBytes` is an error. */
  readonly streamReader: (maxEventBytes: number) => StreamReader;
  /**
   * Reads a complete non-streaming answer into the same events, in one batch. Throws `upstream_error` on invalid input.
   */
  readonly readAnswer: (text: string) => readonly ChatEvent[];
  /** Reads the engine's message from an error body; returns undefined when the body has no readable message. */
  readonly readErrorMessage: (body: string) => string | undefined;
}

/**
 * Reads one streaming answer. The bytes may be split anywhere, even inside a character. For any input, the events
 * follow the order of `ChatEvent`, with exactly one `finish` or `error` in the whole stream. Invalid data, an event
 * over `maxEventBytes`, and an end without the format's terminal marker become an `error` event.
 */
export interface StreamReader {
  /** Returns the events in these bytes; possibly none. Returns none after `finish` or `error`. */
  readonly read: (bytes: Uint8Array) => readonly ChatEvent[];
  /** Ends the stream: the upstream closed the connection. */
  readonly end: () => readonly ChatEvent[];
}

/** What a builder must know about the target model. */
export interface UpstreamModel {
  /** The model's name as the engine knows it. */
  readonly name: string;
  /** The context length in tokens to request, for engines that must be given one (Ollama's `num_ctx`). */
  readonly contextLength: number | undefined;
  /**
   * The model accepts system messages in the middle of a conversation. Otherwise a format with two roles sends them as
   * user text.
   */
  readonly midSystem?: boolean | undefined;
}
