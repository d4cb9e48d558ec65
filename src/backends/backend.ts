import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { CallTrace } from "../lib/call-trace.ts";

/** What vendors call the amounts of thinking, weakest first. Which of them a model takes differs from model to model. */
export const VENDOR_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type VendorEffort = (typeof VENDOR_EFFORTS)[number];

/** What a model can do, and how it wants to be asked. Known from its engine, from its name or from `MODELS_FILE`. */
export interface ModelTraits {
  /** Tokens of prompt and answer together; undefined when the engine does not tell. */
  readonly contextLength: number | undefined;
  /** Tokens one answer may have at most; undefined when only the context limits it. */
  readonly maxOutputTokens?: number | undefined;
  readonly tools: boolean;
  readonly vision: boolean;
  /** It reads documents such as PDFs. */
  readonly documents: boolean;
  readonly audio: boolean;
  /** It can think before it answers. */
  readonly thinking: boolean;
  /** How a cloud has it told to think: the older ones by a budget of tokens, the newer ones by a word. */
  readonly generation?: "older" | "newer" | undefined;
  /** The efforts it takes, weakest first. Without `none` it cannot be kept from thinking. */
  readonly efforts?: readonly VendorEffort[] | undefined;
  /** False when it refuses temperature, top_p and top_k whatever it does. */
  readonly sampling?: boolean | undefined;
  /** It takes system messages amid a conversation, where its vendor's format has a place for them. */
  readonly midSystem?: boolean | undefined;
  /** Which of its vendor's interfaces it answers on; `chat` where a vendor has one alone. */
  readonly api?: "chat" | "responses" | undefined;
}

/** A chat model as `GET /v1/models` lists it. */
export interface Model extends ModelTraits {
  /** What clients call it. */
  readonly id: string;
  /** The backend that answers for it. */
  readonly backend: string;
  /** Unix seconds; 0 when the engine does not tell. */
  readonly created: number;
  readonly ownedBy: string;
}

/** On whose behalf an engine is called, and for how long. */
export interface CallContext {
  /** Ends the upstream call at once, whatever it is doing. */
  readonly signal: AbortSignal;
  /** The trace that the call belongs to, where requests are traced. */
  readonly trace?: CallTrace | undefined;
}

/** What one chat call to an engine needs beside the request. */
export interface CallOptions extends CallContext {
  /** The client's messages and tools go to the model unchanged, whatever the parameter table says of tools. */
  readonly passthrough?: boolean | undefined;
  /**
   * Called before each request of the call, when the model is not told all that the request asks for: with the
   * names of those parameters in the chat-completions format.
   */
  readonly onIgnored?: ((names: readonly string[]) => void) | undefined;
}

/** A server of models. It knows no caller and no table. */
export interface Backend {
  readonly name: string;
  /** The chat models it has now. Embedding models are left out. Throws a `ServiceError` when it cannot be reached. */
  readonly listModels: (signal: AbortSignal) => Promise<readonly Model[]>;
  /** True when the engine answers. Never throws. */
  readonly isReachable: (signal: AbortSignal) => Promise<boolean>;
  /**
   * Starts one chat call. Resolves when the engine's first events are there, rejects with a `ServiceError` before that;
   * afterwards errors come as an `error` event. The request is already fitted to the model.
   */
  readonly chat: (request: ChatRequest, model: Model, options: CallOptions) => Promise<ChatEvents>;
  /** The least limit of an answer that it takes for a model; 1 where it does not say. */
  readonly leastOutputTokens?: (model: Model) => number;
  /** Its counter counts pictures, sound and documents too; else they are not among the counted tokens. */
  readonly countsMedia?: boolean;
  /** The prompt's tokens by the engine's own tokenizer; undefined where it has none. */
  readonly countTokens?: (
    request: ChatRequest,
    model: Model,
    options: CallOptions,
  ) => Promise<number | undefined>;
}
