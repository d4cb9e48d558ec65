import type { EmbeddingAnswer, EmbeddingRequest } from "../../core/embedding.ts";

/** A format of embeddings that the gateway uses to call engines. Pure. */
export interface EmbeddingCodec {
  /** Builds the JSON body of the call, as text. `model` is the engine's name of the model. */
  readonly build: (request: EmbeddingRequest, model: string) => string;
  /** Reads a parsed answer. Throws `upstream_error` unless it holds exactly one vector per input. */
  readonly readAnswer: (answer: unknown, request: EmbeddingRequest) => EmbeddingAnswer;
}
