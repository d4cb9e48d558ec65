import type { EmbeddingRequest, Vector } from "../../core/embedding.ts";
import { isJsonObject, type JsonValue } from "../../lib/json.ts";
import type { EmbeddingCodec } from "./client.ts";
import { garbled, readVectors } from "./read-vectors.ts";

/** `POST /v1/embeddings` as vLLM and all OpenAI-compatible servers take it. */
export const openaiEmbeddings: EmbeddingCodec = {
  build({ inputs, dimensions, encoding, extra }, model) {
    // One input goes as it came: some servers take no list.
    const input = inputs.length === 1 ? inputs[0] : inputs;
    return JSON.stringify({ ...extra, model, input, encoding_format: encoding, dimensions });
  },
  readAnswer(answer, request) {
    if (!isJsonObject(answer)) throw garbled("something else than embeddings");
    const { data, usage } = answer;
    const { prompt_tokens } = isJsonObject(usage) ? usage : {};
    return { vectors: vectorsOf(data, request), inputTokens: toCount(prompt_tokens) };
  },
};

/** By `index` where the server tells it, for the order of `data` is its own affair. */
function vectorsOf(data: JsonValue | undefined, request: EmbeddingRequest): readonly Vector[] {
  if (!Array.isArray(data)) throw garbled("something else than embeddings");
  const values = new Array<unknown>(data.length);
  for (const [position, entry] of data.entries()) {
    const { embedding, index = position } = isJsonObject(entry) ? entry : {};
    if (typeof index !== "number" || !(index in data) || index in values) {
      throw garbled("embeddings out of number");
    }
    values[index] = embedding;
  }
  return readVectors(values, request);
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
