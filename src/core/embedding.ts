import type { JsonObject } from "../lib/json.ts";

/** A text, or the tokens of one. */
export type EmbeddingInput = string | readonly number[];

/** A request for embeddings, whatever format it came in. */
export interface EmbeddingRequest {
  /** The client's word for the model. */
  readonly model: string | undefined;
  /** All texts or all tokens, in the order of the answer. Neither the list nor one of them is empty. */
  readonly inputs: readonly EmbeddingInput[];
  /** Numbers a vector is to have; undefined leaves it to the model. */
  readonly dimensions: number | undefined;
  /** The form of the vectors that costs least, because the client wants it; an engine may answer in the other. */
  readonly encoding: VectorEncoding;
  /** Further fields of the client, for the engine. */
  readonly extra: JsonObject;
}

export type VectorEncoding = "float" | "base64";

/** Numbers, or the base64 of their little-endian float32 bytes. */
export type Vector = readonly number[] | string;

export interface EmbeddingAnswer {
  /** One for each input, in its order. */
  readonly vectors: readonly Vector[];
  /** Tokens of all inputs, by the engine's count; undefined when it does not tell. */
  readonly inputTokens: number | undefined;
}
