import type { JsonObject } from "../../lib/json.ts";
import type { RequestPage } from "../../usage/reports/list-requests.ts";
import type { MeteredRequest } from "../../usage/reports/metered-request.ts";
import type { CsvCell } from "../answers/csv.ts";
import { placeText } from "../queries/requests-query.ts";

/** A page of requests as JSON. */
export function requestPageJson({ from, to, requests, next }: RequestPage): JsonObject {
  return {
    object: "list",
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    data: requests.map(requestJson),
    has_more: next !== null,
    next: next === null ? null : placeText(next),
  };
}

export function requestJson(request: MeteredRequest): JsonObject {
  return { object: "request", ...requestFields(request) };
}

/** What a request has by the names it has in JSON and in CSV. */
export function requestFields(request: MeteredRequest): Readonly<Record<string, CsvCell>> {
  return Object.fromEntries(REQUEST_FIELDS.map(([name, read]) => [name, read(request)]));
}

const REQUEST_FIELDS: readonly (readonly [string, (request: MeteredRequest) => CsvCell])[] = [
  ["id", ({ id }) => id],
  ["started_at", ({ startedAt }) => new Date(startedAt).toISOString()],
  ["key_id", ({ keyId }) => keyId],
  ["key_name", ({ keyName }) => keyName],
  ["owner_id", ({ ownerId }) => ownerId],
  ["owner_name", ({ ownerName }) => ownerName],
  ["channel", ({ channel }) => channel],
  ["model", ({ model }) => model],
  ["outcome", ({ outcome }) => outcome],
  ["success", ({ success }) => success],
  ["status", ({ status }) => status],
  ["input_tokens", ({ inputTokens }) => inputTokens],
  ["output_tokens", ({ outputTokens }) => outputTokens],
  ["cached_tokens", ({ cachedTokens }) => cachedTokens],
  ["reasoning_tokens", ({ reasoningTokens }) => reasoningTokens],
  ["estimated", ({ estimated }) => estimated],
  ["latency_ms", ({ latencyMs }) => latencyMs],
  ["first_token_ms", ({ firstTokenMs }) => firstTokenMs],
  ["tool_name", ({ toolName }) => toolName],
];

export const REQUEST_COLUMNS: readonly string[] = REQUEST_FIELDS.map(([name]) => name);
