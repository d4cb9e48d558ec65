import type { Vector, VectorEncoding } from "../../core/embedding.ts";
import { encodeVector } from "./vector.ts";

export interface EncodedAnswer {
  readonly vectors: readonly Vector[];
  /** The id of the model that answered. */
  readonly model: string;
  /** The tokens reported to the client: the engine's count, or else an estimate. */
  readonly inputTokens: number;
}

/** Returns the JSON text of an answer of `POST /v1/embeddings`. */
export function encodeEmbeddings(answer: EncodedAnswer, encoding: VectorEncoding): string {
  const { vectors, model, inputTokens } = answer;
  return JSON.stringify({
    object: "list",
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: encodeVector(vector, encoding),
    })),
    model,
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
  });
}
