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
  readonly stream: boolean;
  /** The client asked to be shown usage at the end of the stream. It is measured always. */
  readonly includeUsage: boolean;
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
  readonly content: readonly (TextPart | ImagePart)[];
  readonly isError?: boolean | undefined;
}

export type UserPart = TextPart | ImagePart | AudioPart;
export type AssistantPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart;

export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

export interface ImagePart {
  readonly type: "image";
  readonly source:
    | { readonly kind: "url"; readonly url: string }
    | { readonly kind: "base64"; readonly mediaType: string; readonly data: string };
  readonly detail?: string | undefined;
}

export interface AudioPart {
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
  /** The vendor's seal over the text; replayed unchanged. */
  readonly signature?: string | undefined;
  /** Encrypted thinking, shown to nobody; replayed unchanged. */
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
}

export interface ToolDefinition {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; undefined means no arguments. */
  readonly parameters?: JsonObject | undefined;
  readonly strict?: boolean | undefined;
}

export type ToolChoice =
  | { readonly type: "auto" }
  | { readonly type: "none" }
  | { readonly type: "required" }
  | { readonly type: "tool"; readonly name: string };
