import type { Json } from "../json.ts";
import type { Model } from "../models.ts";

export interface TurnMessage {
  readonly role: string;
  readonly text: string;
  readonly images: number;
  /** Other content of the prompt: tool calls and earlier reasoning. */
  readonly extra: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
}

/** A chat request, in one form for all engines. */
export interface Turn {
  readonly model: Model;
  readonly messages: readonly TurnMessage[];
  readonly tools: readonly Tool[];
  readonly toolChoice: "auto" | "none" | "required" | { readonly name: string };
  /** Undefined means the rest of the context. */
  readonly maxTokens: number | undefined;
  readonly stop: readonly string[];
  readonly thinks: boolean;
  /** A JSON schema that the answer must match. */
  readonly schema: Json | undefined;
  readonly stream: boolean;
  /** The number of alternatives per token; undefined means no log probabilities. */
  readonly topLogprobs: number | undefined;
  /** All parts of the request that may change the answer. */
  readonly fingerprint: string;
}
