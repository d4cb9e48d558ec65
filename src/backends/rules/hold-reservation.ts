import type { ChatRequest } from "../../core/chat-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";

/** By these names one server or another takes a limit of the answer, or makes several answers of one. */
const OTHER_LIMITS: ReadonlySet<string> = new Set([
  "best_of",
  "candidateCount",
  "maxOutputTokens",
  "max_completion_tokens",
  "max_new_tokens",
  "max_output_tokens",
  "max_tokens",
  "n",
  "n_predict",
  "num_predict",
]);

/**
 * The request whose answer has no more tokens than are reserved for it, whatever it has been through: the client's
 * further fields can neither lift the limit nor ask for more. Without a reservation it stays as it is.
 */
export function holdReservation(request: ChatRequest): ChatRequest {
  const { reservedOutputTokens: most, parameters } = request;
  if (most === undefined) return request;
  const maxOutputTokens = Math.min(parameters.maxOutputTokens ?? most, most);
  const extra = parameters.extra && withoutLimits(parameters.extra, maxOutputTokens);
  return { ...request, parameters: { ...parameters, maxOutputTokens, extra } };
}

function withoutLimits(fields: JsonObject, most: number): JsonObject {
  const kept = Object.entries(fields).filter(([name]) => !OTHER_LIMITS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, limited(name, value, most)]));
}

function limited(name: string, value: JsonValue | undefined, most: number): JsonValue | undefined {
  if (name === "options" && isJsonObject(value)) return withoutLimits(value, most);
  // Engines refuse a least length above the limit, which the client has not chosen so low.
  const isTooMuch = name === "min_tokens" && typeof value === "number" && value > most;
  return isTooMuch ? most : value;
}
