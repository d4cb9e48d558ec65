import type { JsonObject } from "../../lib/json/json.ts";
import type { FileSearch } from "../file-search.ts";
import type { Effort } from "./effort.ts";

/** Models that are tried after the first one at most: each costs a call. */
export const MAX_FALLBACKS = 8;

/**
 * One chat call in the gateway's canonical form. Every client format is parsed into it; every backend builds its
 * request from it.
 */
export interface ChatRequest {
  /** The model name the client sent; undefined selects the default model. */
  readonly model: string | undefined;
  /** At least one message, in order. System messages may appear anywhere. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  /** False limits the model to one tool call per answer. */
  readonly parallelToolCalls?: boolean | undefined;
  readonly parameters: GenerationParameters;
  readonly effort?: Effort | undefined;
  /** The effort applies to the whole answer: the client leaves it to the model whether to think. */
  readonly leavesThinking?: boolean | undefined;
  readonly stream: boolean;
  /**
   * Tokens reserved for the answer, including thinking. The answer may not exceed them, whichever model gives it and
   * whatever limit the client requested. Undefined when no token limit of the key applies.
   */
  readonly reservedOutputTokens?: number | undefined;
  /** Models to try in this order when the requested one cannot answer; at most MAX_FALLBACKS. */
  readonly fallbacks?: readonly string[] | undefined;
  /** The client wants no reasoning text, only the seals it needs to replay the reasoning. */
  readonly omitsReasoning?: boolean | undefined;
  /** Tools that the client asks an assistant to use; refused on a plain model. */
  readonly toolsScope?: readonly string[] | undefined;
  /** The client's own search in files, before the answer. */
  readonly fileSearch?: FileSearch | undefined;
}

/** Generation parameters. Unset ones are not sent, so that the engine's own defaults apply. */
export interface GenerationParameters {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  /** Maximum number of tokens of the answer, including thinking. */
  readonly maxOutputTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly responseFormat?: ResponseFormat | undefined;
  readonly logprobs?: boolean | undefined;
  readonly topLogprobs?: number | undefined;
  /** Other fields of the client's body, by their chat-completions names. Local engines receive them unchanged. */
  readonly extra?: JsonObject | undefined;
}

export type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly schema: JsonObject | undefined;
      readonly strict?: boolean | undefined;
      readonly description?: string | undefined;
    };

export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

export interface SystemMessage {
  readonly role: "system";
  readonly content: readonly TextPart[];
  readonly name?: string | undefined;
}

export interface UserMessage {
  readonly role: "user";
  readonly content: readonly UserPart[];
  readonly name?: string | undefined;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
  readonly name?: string | undefined;
}

/** The result of one tool call. */
export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly content: readonly (TextPart | ImagePart | DocumentPart)[];
  readonly isError?: boolean | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

/**
 * A client's cache breakpoint: the prompt up to here is worth keeping in the vendor's cache. It has the messages
 * format's form and is sent only to vendors that support it.
 */
export type CacheControl = JsonObject;

export type UserPart = TextPart | ImagePart | AudioPart | DocumentPart;
export type AssistantPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly cacheControl?: CacheControl | undefined;
  /** The vendor's seal over its own text, marked as described in `core/chat/seal.ts`; replayed unchanged. */
  readonly signature?: string | undefined;
}

export interface ImagePart extends Attachment {
  readonly type: "image";
  readonly source: MediaSource;
  readonly detail?: string | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

/** A file that the model reads as a whole, such as a PDF. A plain-text file from a client becomes a `TextPart`. */
export interface DocumentPart extends Attachment {
  readonly type: "document";
  readonly source: MediaSource;
  /** The title, or the file name. */
  readonly title?: string | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

export type MediaSource =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string };

/** Content that not every model accepts. */
interface Attachment {
  /** Its path in the client's body, so that a refusal can name it: `messages[0].content[1]`. */
  readonly at?: string | undefined;
}

export interface AudioPart extends Attachment {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  /** `wav`, `mp3`. */
  readonly format: string;
}

/** Reasoning of the model in an earlier turn. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  /** The vendor's seal over the text, marked as described in `core/chat/seal.ts`; replayed unchanged. */
  readonly signature?: string | undefined;
  /** Encrypted reasoning, never shown, marked as described in `core/chat/seal.ts`; replayed unchanged. */
  readonly redacted?: string | undefined;
}

export interface RefusalPart {
  readonly type: "refusal";
  readonly text: string;
}

export interface ToolCallPart {
  readonly type: "tool-call";
  readonly callId: string;
  readonly name: string;
  /** The JSON text exactly as it was sent, byte for byte; it is never re-serialised. */
  readonly arguments: string;
  /** The vendor's seal over the call, marked as described in `core/chat/seal.ts`; replayed unchanged. */
  readonly signature?: string | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; undefined means no arguments. */
  readonly parameters?: JsonObject | undefined;
  readonly strict?: boolean | undefined;
  readonly cacheControl?: CacheControl | undefined;
  /** Of a tool that only Anthropic's models know; other models are not offered it. */
  readonly native?: NativeTool | undefined;
}

/**
 * A tool that Anthropic's models know by its type and the client runs (`bash_20250124`), as the client defines it. It
 * has the messages format's form, and no description or schema.
 */
export type NativeTool = JsonObject & { readonly type: string };

export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  | { readonly type: "required" }
  | { readonly type: "tool"; readonly name: string };
