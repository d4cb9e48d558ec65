import type { Usage } from "../../core/chat/usage.ts";
import type { EmbeddingRequest, Vector } from "../../core/embedding.ts";
import { isJsonObject, type JsonValue } from "../../lib/json/json.ts";
import type { EmbeddingCodec } from "./client.ts";
import { embeddedUsage, garbled, readVectors } from "./read-vectors.ts";

/** The format of `POST /v1/embeddings` of vLLM and all OpenAI-compatible servers. */
export const openaiEmbeddings: EmbeddingCodec = {
  build({ inputs, dimensions, encoding, extra }, model) {
    // A single input is not sent as a list, because some servers accept no list.
    const input = inputs.length === 1 ? inputs[0] : inputs;
    return JSON.stringify({ ...extra, model, input, encoding_format: encoding, dimensions });
  },
  readAnswer(answer, request) {
    if (!isJsonObject(answer)) throw garbled("something other than embeddings");
    const { data, usage } = answer;
    const { prompt_tokens } = isJsonObject(usage) ? usage : {};
    const inputTokens = toCount(prompt_tokens);
    return { vectors: vectorsOf(data, request, embeddedUsage(inputTokens)), inputTokens };
  },
};

/** Orders the vectors by `index` if the server sends it, because the order of `data` is not guaranteed. */
function vectorsOf(
  data: JsonValue | undefined,
  request: EmbeddingRequest,
  usage: Usage,
): readonly Vector[] {
  if (!Array.isArray(data)) throw garbled("something other than embeddings");
  const values = new Array<unknown>(data.length);
  for (const [position, entry] of data.entries()) {
    const { embedding, index = position } = isJsonObject(entry) ? entry : {};
    if (typeof index !== "number" || !(index in data) || index in values) {
      throw garbled("embeddings with an invalid index", usage);
    }
    values[index] = embedding;
  }
  return readVectors(values, request, usage);
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
