import type { Json } from "../json.ts";
import type { Model } from "../models.ts";

export interface TurnMessage {
  readonly role: string;
  readonly text: string;
  readonly images: number;
  /** What else counts as prompt: tool calls and earlier reasoning. */
  readonly extra: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
}

/** What both engines are asked, in one form. */
export interface Turn {
  readonly model: Model;
  readonly messages: readonly TurnMessage[];
  readonly tools: readonly Tool[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string };
  /** Undefined: whatever the context has left. */
  readonly maxTokens: number | undefined;
  readonly stop: readonly string[];
  readonly thinks: boolean;
  /** A JSON schema the answer must follow. */
  readonly schema: Json | undefined;
  readonly stream: boolean;
  /** Alternatives a token; undefined: no log probabilities. */
  readonly topLogprobs: number | undefined;
  /** Everything that may change the answer. */
  readonly fingerprint: string;
}
