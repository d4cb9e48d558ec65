import type { JsonObject } from "../lib/json.ts";
import type { Effort } from "./effort.ts";

/** One chat call in the gateway's own language. Every client format is parsed into it, every backend builds from it. */
export interface ChatRequest {
  /** The client's word for the model; undefined asks for the default. */
  readonly model: string | undefined;
  /** At least one message, in order. System messages may stand anywhere. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  /** False asks the model for at most one tool call an answer. */
  readonly parallelToolCalls?: boolean | undefined;
  readonly parameters: GenerationParameters;
  readonly effort?: Effort | undefined;
  /** The effort is for the whole answer: the client left it to the model whether it thinks. */
  readonly leavesThinking?: boolean | undefined;
  readonly stream: boolean;
  /**
   * Tokens that are reserved for the answer, thinking included: it may have no more, whoever gives it and whatever the
   * client asked for. Undefined when no limit of the key holds them.
   */
  readonly reservedOutputTokens?: number | undefined;
  /** Models to try in this order when the one asked for cannot answer. */
  readonly fallbacks?: readonly string[] | undefined;
  /** The client wants no words of what the model thinks, only the seals it needs to replay them. */
  readonly omitsReasoning?: boolean | undefined;
  /** Tools the client asks an assistant to use; refused on a plain model. */
  readonly toolsScope?: readonly string[] | undefined;
}

/** Generation parameters. Unset ones are not sent, so that the engine's own defaults apply. */
export interface GenerationParameters {
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  /** Tokens the answer may have, thinking included. */
  readonly maxOutputTokens?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly responseFormat?: ResponseFormat | undefined;
  readonly logprobs?: boolean | undefined;
  readonly topLogprobs?: number | undefined;
  /** Further fields of the client's body, by their chat-completions names. Local engines get them unchanged. */
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
 * A client's mark that the prompt up to here is worth keeping in the vendor's cache, in the messages format's words.
 * Only a vendor that knows such marks is told.
 */
export type CacheControl = JsonObject;

export type UserPart = TextPart | ImagePart | AudioPart | DocumentPart;
export type AssistantPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly cacheControl?: CacheControl | undefined;
  /** The vendor's seal over a text of its own, marked as `core/seal.ts` says; replayed unchanged. */
  readonly signature?: string | undefined;
}

export interface ImagePart extends Attachment {
  readonly type: "image";
  readonly source: MediaSource;
  readonly detail?: string | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

/** A file that the model is to read whole, such as a PDF. What a client sends as plain text is a `TextPart`. */
export interface DocumentPart extends Attachment {
  readonly type: "document";
  readonly source: MediaSource;
  /** Its title or the name of its file. */
  readonly title?: string | undefined;
  readonly cacheControl?: CacheControl | undefined;
}

export type MediaSource =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string };

/** Something that not every model takes. */
interface Attachment {
  /** Where it stood in the client's own body, so that a refusal can name it: `messages[0].content[1]`. */
  readonly at?: string | undefined;
}

export interface AudioPart extends Attachment {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  /** `wav`, `mp3`. */
  readonly format: string;
}

/** What the model thought in an earlier turn. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  /** The vendor's seal over the text, marked as `core/seal.ts` says; replayed unchanged. */
  readonly signature?: string | undefined;
  /** Encrypted thinking, shown to nobody, marked likewise; replayed unchanged. */
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
  /** JSON text as it was sent, never re-serialised: byte for byte. */
  readonly arguments: string;
  /** The vendor's seal over the call, marked likewise; replayed unchanged. */
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
}

export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  | { readonly type: "required" }
  | { readonly type: "tool"; readonly name: string };
