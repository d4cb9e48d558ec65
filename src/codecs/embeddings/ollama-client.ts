import { isJsonObject } from "../../lib/json/json.ts";
import type { EmbeddingCodec } from "./client.ts";
import { embeddedUsage, garbled, readVectors } from "./read-vectors.ts";

/** The format of Ollama's `POST /api/embed`: it accepts only texts and returns numbers. */
export const ollamaEmbeddings: EmbeddingCodec = {
  build: ({ inputs, dimensions, extra }, model) =>
    // By default the engine silently truncates a text that is too long.
    JSON.stringify({ truncate: false, ...extra, model, input: inputs, dimensions }),
  readAnswer(answer, request) {
    if (!isJsonObject(answer) || !Array.isArray(answer["embeddings"])) {
      throw garbled("something other than embeddings");
    }
    const { embeddings, prompt_eval_count: count } = answer;
    const isCount = typeof count === "number" && Number.isSafeInteger(count) && count > 0;
    // A missing count may mean zero or unknown.
    const inputTokens = isCount ? count : undefined;
    return { vectors: readVectors(embeddings, request, embeddedUsage(inputTokens)), inputTokens };
  },
};
