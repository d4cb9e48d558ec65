import type { EmbeddingAnswer, EmbeddingRequest } from "../../core/embedding.ts";

/** A format of embeddings as we speak it to engines. Pure. */
export interface EmbeddingCodec {
  /** The JSON body of the call, as text. `model` is the name as the engine knows it. */
  readonly build: (request: EmbeddingRequest, model: string) => string;
  /** Reads an answer, parsed. Throws `upstream_error` unless it holds exactly one vector for each input. */
  readonly readAnswer: (answer: unknown, request: EmbeddingRequest) => EmbeddingAnswer;
}
