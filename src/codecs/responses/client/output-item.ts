import { isJsonObject, type JsonObject } from "../../../lib/json.ts";

/** A piece of an item's content: what the model says, refuses, thinks, or writes into a call. */
export type PieceKind = "text" | "refusal" | "summary" | "thought" | "arguments" | "input";

/** One item of an output under way: writes what its pieces bring, however they come. */
export interface OutputItem {
  /** It has brought something. */
  readonly hasContent: boolean;
  /** The next piece of a part of the content; parts are numbered. Kinds that such an item does not have are left out. */
  add(kind: PieceKind, part: number, text: string, extra?: JsonObject): void;
  /** A part is told once more as a whole: brings what its pieces have not brought. */
  complete(kind: PieceKind, part: number, text: string): void;
  /** Nothing comes any more. */
  end(): void;
}

/** Log probabilities as the extras of a delta, which are in the chat-completion format; undefined when there are none. */
export function readLogprobs(logprobs: unknown): JsonObject | undefined {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return undefined;
  return { logprobs: { content: logprobs.filter(isJsonObject).map(readToken) } };
}

function readToken(token: JsonObject): JsonObject {
  const { top_logprobs: top } = token;
  const choices = Array.isArray(top) ? top.filter(isJsonObject) : [];
  return { bytes: null, ...token, top_logprobs: choices.map((one) => ({ bytes: null, ...one })) };
}
