import type { Call } from "../call.ts";
import { embed } from "../content/embedding.ts";
import { speakWhole } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import { can, type Model } from "../models.ts";
import { badRequest } from "./bad-request.ts";
import { findServedModel } from "./find-served-model.ts";

const DEFAULT_DIMENSIONS = 256;

/** Handles POST /v1/embeddings: text or token arrays, float or base64 (little-endian float32). */
export function embeddings(call: Call): Promise<void> {
  const { body, script } = call;
  const model = findServedModel(call);
  if (!can(model, "embedding")) {
    throw badRequest("The model does not support Embeddings API", "model");
  }
  const inputs = readInputs(body["input"]);
  const dimensions = script?.dimensions ?? readDimensions(body["dimensions"], model);
  const isBase64 = body["encoding_format"] === "base64";
  const data = inputs.map((input, index) => {
    const vector = embed(typeof input === "string" ? input : input.join(" "), dimensions);
    return { object: "embedding", index, embedding: isBase64 ? toBase64(vector) : vector };
  });
  const inputTokens = inputs.reduce((sum, input) => sum + countTokens(input, model), 0);
  const told = { prompt_tokens: inputTokens, total_tokens: inputTokens, completion_tokens: 0 };
  const answer = {
    id: `embd-${call.entry.id}`,
    object: "list",
    created: Math.floor(Date.now() / 1000),
    model: model.name,
    data,
    usage: { ...told, prompt_tokens_details: null },
  };
  return speakWhole(call, answer, { inputTokens, outputTokens: 0 });
}

type Input = string | readonly number[];

function readInputs(value: unknown): Input[] {
  const isTokens = (item: unknown): item is number[] =>
    Array.isArray(item) && item.length > 0 && item.every(Number.isInteger);
  if (typeof value === "string" || isTokens(value)) return [value];
  const list: unknown[] = Array.isArray(value) ? value : [];
  const inputs = list.filter((item) => typeof item === "string" || isTokens(item));
  if (inputs.length === 0 || inputs.length !== list.length) {
    throw badRequest("input must be text, tokens, or a list of either", "input");
  }
  return inputs;
}

function readDimensions(value: unknown, model: Model): number {
  const most = model.dimensions ?? DEFAULT_DIMENSIONS;
  if (value == null) return most;
  if (Number.isInteger(value) && Number(value) > 0 && Number(value) <= most) return Number(value);
  throw badRequest(`dimensions must be between 1 and ${most}`, "dimensions");
}

function countTokens(input: Input, model: Model): number {
  const tokens = typeof input === "string" ? tokenize(input).length : input.length;
  if (tokens <= model.contextLength) return tokens;
  throw badRequest(
    `This model's maximum context length is ${model.contextLength} tokens. However, you requested ${tokens} tokens in the input for embedding generation. Please reduce the length of the input.`,
  );
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => {
    bytes.writeFloatLE(value, index * 4);
  });
  return bytes.toString("base64");
}
