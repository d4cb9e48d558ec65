import type { ChatEvents } from "../core/chat/chat-event.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import type { CallTrace } from "../lib/call-trace.ts";
import type { CancelSignal } from "../lib/cancellation.ts";

/** The vendors' names of reasoning efforts, weakest first. Each model takes its own subset. */
export const VENDOR_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type VendorEffort = (typeof VENDOR_EFFORTS)[number];

/** A model's capabilities and how it must be called. They come from its engine, its name or `MODELS_FILE`. */
export interface ModelTraits {
  /** Tokens of prompt and answer together; undefined when the engine does not report it. */
  readonly contextLength: number | undefined;
  /** The most tokens of one answer; undefined when only the context limits it. */
  readonly maxOutputTokens?: number | undefined;
  readonly tools: boolean;
  readonly vision: boolean;
  /** It reads documents such as PDFs. */
  readonly documents: boolean;
  readonly audio: boolean;
  /** It can think before it answers. */
  readonly thinking: boolean;
  /** How a cloud controls its thinking: older models take a budget of tokens, newer ones a named level. */
  readonly generation?: "older" | "newer" | undefined;
  /** The efforts it accepts, weakest first. Without `none` its thinking cannot be disabled. */
  readonly efforts?: readonly VendorEffort[] | undefined;
  /** False when it always refuses temperature, top_p and top_k. */
  readonly sampling?: boolean | undefined;
  /** It accepts system messages in the middle of a conversation, where the vendor's format allows them. */
  readonly midSystem?: boolean | undefined;
  /** The vendor interface that serves it; `chat` where the vendor has only one. */
  readonly api?: "chat" | "responses" | undefined;
}

/** A chat model as `GET /v1/models` lists it. */
export interface Model extends ModelTraits {
  /** The name that clients use. */
  readonly id: string;
  /** The name of the backend that serves it. */
  readonly backend: string;
  /** Unix seconds; 0 when the engine does not report it. */
  readonly created: number;
  readonly ownedBy: string;
  /** True if the model receives `response_format`, which says what form its answer must have. */
  readonly structuredOutputs?: boolean | undefined;
  /** True of the engine simulator's models, which says so in its list. */
  readonly isSimulated?: boolean | undefined;
}

/** The signal and the trace of the client call that an engine is called for. */
export interface CallContext {
  /** Ends the upstream call immediately, whatever its state. */
  readonly signal: CancelSignal;
  /** The trace of the call, where requests are traced. */
  readonly trace?: CallTrace | undefined;
}

/** The bytes that a backend adds to a request, counted among the bodies in hand. */
export interface AddedBytes {
  /** Throws `overloaded` when there is no room for so many more. */
  readonly addBytes: (bytes: number) => void;
  /** Releases all that were added. */
  readonly releaseAdded: () => void;
}

/** The options of one chat call to an engine. */
export interface CallOptions extends CallContext {
  /** Absent where no bodies are counted. */
  readonly added?: AddedBytes | undefined;
  /** The client's messages and tools are sent to the model unchanged, whatever the parameter table says about tools. */
  readonly passthrough?: boolean | undefined;
  /** The tools are the gateway's own, which are sent to every model that takes tools, whatever the table says. */
  readonly hasOwnTools?: boolean | undefined;
  /**
   * Called before each request of the call that omits parameters of the client's request, with their names in the
   * chat-completions format.
   */
  readonly onIgnored?: ((names: readonly string[]) => void) | undefined;
}

/** A model server. It knows no callers and no database tables. */
export interface Backend {
  readonly name: string;
  /** Lists its current chat models, without embedding models. Throws a `ServiceError` when it cannot be reached. */
  readonly listModels: (signal: AbortSignal) => Promise<readonly Model[]>;
  /** Returns true when the engine answers. Never throws. */
  readonly isReachable: (signal: AbortSignal) => Promise<boolean>;
  /**
   * Starts one chat call. Resolves with the engine's first events and rejects with a `ServiceError` before that. Later
   * errors arrive as an `error` event. The request is already fitted to the model.
   */
  readonly chat: (request: ChatRequest, model: Model, options: CallOptions) => Promise<ChatEvents>;
  /** The smallest output limit that it accepts for a model; 1 where unknown. */
  readonly leastOutputTokens?: (model: Model) => number;
  /** True when its counter includes images, audio and documents; otherwise the count leaves them out. */
  readonly countsMedia?: boolean;
  /** The prompt's size in tokens by the engine's own tokenizer; undefined where it has none. */
  readonly countTokens?: (
    request: ChatRequest,
    model: Model,
    options: CallOptions,
  ) => Promise<number | undefined>;
}
