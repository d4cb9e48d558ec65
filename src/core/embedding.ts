import type { JsonObject } from "../lib/json/json.ts";

/** A text, or the tokens of one. */
export type EmbeddingInput = string | readonly number[];

/** A request for embeddings in any client format. */
export interface EmbeddingRequest {
  /** The model name the client sent. */
  readonly model: string | undefined;
  /** All texts or all token lists, in the order of the answer. Neither the list nor an item is empty. */
  readonly inputs: readonly EmbeddingInput[];
  /** The number of dimensions of each vector; undefined leaves it to the model. */
  readonly dimensions: number | undefined;
  /** The encoding the client wants, which needs no conversion. An engine may answer in the other one. */
  readonly encoding: VectorEncoding;
  /** Other fields of the client's body, passed to the engine. */
  readonly extra: JsonObject;
}

export type VectorEncoding = "float" | "base64";

/** Numbers, or the base64 of their little-endian float32 bytes. */
export type Vector = readonly number[] | string;

export interface EmbeddingAnswer {
  /** One vector per input, in input order. */
  readonly vectors: readonly Vector[];
  /** Tokens of all inputs, as counted by the engine; undefined when it does not report them. */
  readonly inputTokens: number | undefined;
}
