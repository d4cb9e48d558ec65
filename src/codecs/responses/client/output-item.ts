import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";

/** The kinds of pieces in an item: text, refusal, reasoning, or the input of a call. */
export type PieceKind = "text" | "refusal" | "summary" | "thought" | "arguments" | "input";

/** One output item in progress. It writes the content of its pieces, in whatever order they arrive. */
export interface OutputItem {
  /** True after the item had any content. */
  readonly hasContent: boolean;
  /** Adds the next piece of a numbered part of the content. Kinds that the item does not support are dropped. */
  add(kind: PieceKind, part: number, text: string, extra?: JsonObject): void;
  /** Completes a part that is repeated as a whole: writes what its pieces did not contain. */
  complete(kind: PieceKind, part: number, text: string): void;
  /** Ends the item. */
  end(): void;
}

/**
 * Converts log probabilities to the extras of a delta, in the chat-completions format; returns undefined when there are
 * none.
 */
export function readLogprobs(logprobs: unknown): JsonObject | undefined {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return undefined;
  return { logprobs: { content: logprobs.filter(isJsonObject).map(readToken) } };
}

function readToken(token: JsonObject): JsonObject {
  const { top_logprobs: top } = token;
  const choices = Array.isArray(top) ? top.filter(isJsonObject) : [];
  return { bytes: null, ...token, top_logprobs: choices.map((one) => ({ bytes: null, ...one })) };
}
