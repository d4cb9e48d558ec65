import { isJsonObject, type JsonObject } from "../../../lib/json.ts";

/**
 * What we read of an answer, a chunk of a stream or a whole one. Nothing is promised: vendors leave out, rename and
 * add fields, so each is checked where it is read.
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
  /** Where some vendors put it. */
  readonly usage?: unknown;
}

export interface WireDelta {
  readonly content?: unknown;
  readonly reasoning?: unknown;
  readonly reasoning_content?: unknown;
  readonly refusal?: unknown;
  readonly tool_calls?: unknown;
}

/** What of an object has a place of its own in our language; the rest are the vendor's extras. */
export const KNOWN_CHUNK_FIELDS: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "usage",
  "error",
  // Padding against guessing text by its length; no two chunks have the same.
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

/** The one answer that the gateway asks for; others that come all the same are left out. */
export function findChoice(choices: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice) => {
    const { index }: WireChoice = isJsonObject(choice) ? choice : { index: -1 };
    return (index ?? 0) === 0;
  });
}
