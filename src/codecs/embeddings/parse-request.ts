import type { EmbeddingInput, EmbeddingRequest } from "../../core/embedding.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { checkRequest, invalidValue } from "../shared/check-request.ts";
import { embeddingRequestSchema, MAX_INPUTS } from "./wire.ts";

const fieldsSchema = embeddingRequestSchema.omit({ input: true });
const INPUT = "a text, a list of texts, a list of tokens or a list of lists of tokens";

/** Reads the body of `POST /v1/embeddings`. Throws `invalid_value` that names the invalid field. */
export function parseEmbeddingRequest(body: unknown): EmbeddingRequest {
  if (!isJsonObject(body)) throw invalidValue([], "an object", body);
  const { input, ...others } = body;
  const fields: unknown = others;
  checkRequest(fieldsSchema, fields);
  const { model, encoding_format, dimensions, ...extra } = fields;
  return {
    model: model ?? undefined,
    inputs: readInputs(input),
    dimensions: dimensions ?? undefined,
    encoding: encoding_format ?? "float",
    extra: withoutNulls(extra as JsonObject),
  };
}

function readInputs(input: unknown): readonly EmbeddingInput[] {
  if (typeof input === "string") {
    if (input === "") throw invalidValue(["input"], "a non-empty text", input);
    return [input];
  }
  if (!Array.isArray(input)) throw invalidValue(["input"], INPUT, input);
  const [first] = input;
  if (first === undefined) throw invalidValue(["input"], "a non-empty array", input);
  if (typeof first === "number") return [readTokens(input, ["input"])];
  if (typeof first !== "string" && !Array.isArray(first)) {
    throw invalidValue(["input", 0], "a text, a token or a list of tokens", first);
  }
  if (input.length > MAX_INPUTS) {
    throw invalidValue(["input"], `at most ${MAX_INPUTS} inputs`, input);
  }
  return typeof first === "string" ? readTexts(input) : readTokenLists(input);
}

function readTexts(input: readonly unknown[]): readonly string[] {
  return input.map((text, index) => {
    if (typeof text === "string" && text !== "") return text;
    throw invalidValue(["input", index], "a non-empty text", text);
  });
}

function readTokenLists(input: readonly unknown[]): readonly (readonly number[])[] {
  return input.map((tokens, index) => readTokens(tokens, ["input", index]));
}

function readTokens(tokens: unknown, at: readonly PropertyKey[]): readonly number[] {
  if (!Array.isArray(tokens) || tokens.length === 0) {
    throw invalidValue(at, "a non-empty list of tokens", tokens);
  }
  const wrong = tokens.findIndex((token) => !Number.isSafeInteger(token) || token < 0);
  if (wrong >= 0) throw invalidValue([...at, wrong], "a token, an integer from 0", tokens[wrong]);
  return tokens;
}

/** Removes null fields: null means absent. */
function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
