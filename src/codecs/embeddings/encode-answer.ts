import type { Vector, VectorEncoding } from "../../core/embedding.ts";
import { encodeVector } from "./vector.ts";

export interface EncodedAnswer {
  readonly vectors: readonly Vector[];
  /** The id of the model that truly answered. */
  readonly model: string;
  /** As the client is told: the engine's figure, else an estimate. */
  readonly inputTokens: number;
}

/** The JSON text of an answer of `POST /v1/embeddings`. */
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
