import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";

/**
 * The fields read from an answer, either a chunk of a stream or a complete answer. None is guaranteed: vendors omit,
 * rename and add fields, so each is checked where it is read.
 */
export interface WireChunk {
  readonly id?: unknown;
  readonly object?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
  readonly x_groq?: unknown;
}

export interface WireChoice {
  readonly index?: unknown;
  readonly delta?: unknown;
  readonly message?: unknown;
  readonly finish_reason?: unknown;
  readonly stop_reason?: unknown;
  readonly error?: unknown;
  /** Some vendors put it here. */
  readonly usage?: unknown;
}

export interface WireDelta {
  readonly content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

/** Fields with a canonical place; all others are the vendor's extras. */
export const KNOWN_CHUNK_FIELDS: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "error",
  // Random padding that hides the length of the text; it differs in every chunk.
  "obfuscation",
]);
export const KNOWN_CHOICE_FIELDS: ReadonlySet<string> = new Set([
  "index",
  "delta",
  "message",
  "finish_reason",
  "error",
  "usage",
]);
export const KNOWN_MESSAGE_FIELDS: ReadonlySet<string> = new Set([
  "role",
  "content",
  "reasoning",
  "reasoning_content",
  "refusal",
  "tool_calls",
  "function_call",
]);

/** Fields of a choice that belong to the tokens of its delta and not to the end of the answer. */
export const TOKEN_FIELDS: ReadonlySet<string> = new Set(["logprobs", "token_ids"]);

/** Finds the only choice that the gateway requests; any others are dropped. */
export function findChoice(choices: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice) => {
    const { index }: WireChoice = isJsonObject(choice) ? choice : { index: -1 };
    return (index ?? 0) === 0;
  });
}
