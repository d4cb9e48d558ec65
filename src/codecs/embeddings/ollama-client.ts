import { isJsonObject } from "../../lib/json.ts";
import type { EmbeddingCodec } from "./client.ts";
import { garbled, readVectors } from "./read-vectors.ts";

/** `POST /api/embed` of Ollama: texts in, numbers out. */
export const ollamaEmbeddings: EmbeddingCodec = {
  build: ({ inputs, dimensions, extra }, model) =>
    // Left to itself the engine cuts a text that is too long, without a word.
    JSON.stringify({ truncate: false, ...extra, model, input: inputs, dimensions }),
  readAnswer(answer, request) {
    if (!isJsonObject(answer) || !Array.isArray(answer["embeddings"])) {
      throw garbled("something else than embeddings");
    }
    const { embeddings, prompt_eval_count: count } = answer;
    const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
    return {
      vectors: readVectors(embeddings, request),
      // Left out, it may be a zero as well as nothing known.
      inputTokens: isCount ? count : undefined,
    };
  },
};
