import type { CallerMemory } from "../core/caller-memory.ts";
import type { ChatAnswer } from "../core/chat-answer.ts";
import type { ChatEvent } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { ServiceError } from "../core/service-error.ts";
import type { JsonObject } from "../lib/json.ts";
import type { ClientNames } from "./shared/client-names.ts";

/**
 * A wire format as clients speak it to us. Pure: no I/O, no clock, no randomness of its own.
 * `Form` is what a request asks of the shape of its answer; it concerns nobody but the format itself.
 */
export interface ServerCodec<Form> {
  /**
   * Reads a parsed JSON body. Throws a `ServiceError` that names the field at fault.
   * @param text the body as it came: the parser rounds integers beyond 2^53, the text has them whole.
   * @param memory what earlier calls of the same caller kept; undefined where nothing is remembered.
   */
  readonly parse: (body: unknown, text: string, memory?: CallerMemory) => ParsedCall<Form>;
  /** The whole answer as the JSON text of a non-streaming call. */
  readonly encodeAnswer: (answer: ChatAnswer, context: AnswerContext, form: Form) => string;
  /** A fresh encoder for one stream. */
  readonly streamEncoder: (context: AnswerContext, form: Form) => StreamEncoder;
  /** What to write when nothing was said for a while, before the first event too. */
  readonly keepalive: string;
  /** The JSON body of an error response. */
  readonly encodeError: (error: ServiceError, requestId: string) => JsonObject;
}

/** Turns event batches into the bytes of one stream, as text. */
export interface StreamEncoder {
  /** The text for one batch; every frame in it is whole. `finish` and `error` end the stream in the family's form. */
  readonly encode: (events: readonly ChatEvent[]) => string;
}

export interface ParsedCall<Form> {
  readonly request: ChatRequest;
  readonly form: Form;
  readonly names: ClientNames;
}

/** What an encoder must know beside the events. */
export interface AnswerContext {
  readonly requestId: string;
  /** The id of the model that answers, as listed. */
  readonly model: string;
  /** Unix seconds. */
  readonly created: number;
  /** What of the request had no effect, in the client's own names. */
  readonly ignored?: readonly string[] | undefined;
  /** Unix seconds at the moment it is asked, for formats that tell when an answer was whole. */
  readonly now?: (() => number) | undefined;
}

/** A wire format as we speak it to engines and clouds. Pure. */
export interface ClientCodec {
  /** The JSON body of the call, as text. */
  readonly build: (request: ChatRequest, model: UpstreamModel) => string;
  /** Parameters of a request that `build` has no words for, by their names in the chat-completions format. */
  readonly unsaid?: (request: ChatRequest) => readonly string[];
  /** A fresh reader for one streaming answer. An event larger than `maxEventBytes` is an error. */
  readonly streamReader: (maxEventBytes: number) => StreamReader;
  /** Reads a whole non-streaming answer: the same events in one batch. Throws `upstream_error` on garbage. */
  readonly readAnswer: (text: string) => readonly ChatEvent[];
  /** What the engine says in an error response; undefined when the body says nothing readable. */
  readonly readErrorMessage: (body: string) => string | undefined;
}

/**
 * Reads one streaming answer. Bytes may be cut anywhere, inside a character too.
 * Whatever comes in, the events obey the order of `ChatEvent`, with exactly one `finish` or `error` over the whole stream:
 * garbage, an event over `maxEventBytes`, or an end without the format's terminal marker become an `error` event.
 */
export interface StreamReader {
  /** The events in these bytes; may be empty. After `finish` or `error` always empty. */
  readonly read: (bytes: Uint8Array) => readonly ChatEvent[];
  /** The upstream closed the connection. */
  readonly end: () => readonly ChatEvent[];
}

/** What a builder must know of the model it writes to. */
export interface UpstreamModel {
  /** The model's name as the engine knows it. */
  readonly name: string;
  /** Tokens of context the engine is asked to hold, where the engine must be told (Ollama's `num_ctx`). */
  readonly contextLength: number | undefined;
  /** It takes what the system says amid a conversation as such. Else the user says it, where a format has two speakers. */
  readonly midSystem?: boolean | undefined;
}
