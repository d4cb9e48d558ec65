import { type Call, sendJson } from "../call.ts";
import type { Model } from "../models.ts";
import { anthropicError } from "./anthropic-error.ts";
import { traitsOf } from "./anthropic-models.ts";

/** Handles GET /v1/models, in pages. */
export function listModels(call: Call): Promise<void> {
  const { query } = call.exchange.request;
  const { models } = call.options;
  const limit = Number(query.get("limit") ?? 20);
  const after = query.get("after_id");
  const start = after === null ? 0 : models.findIndex(({ name }) => name === after) + 1;
  const data = models.slice(start, start + limit).map(card);
  return sendJson(call, 200, {
    data,
    has_more: start + limit < models.length,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
}

/** Handles GET /v1/models/{id}. */
export function showModel(call: Call): Promise<void> {
  const id = decodeURIComponent(call.exchange.request.path.slice("/v1/models/".length));
  const model = call.options.models.find(({ name }) => name === id);
  if (!model) throw anthropicError(404, "not_found_error", `model: ${id}`);
  return sendJson(call, 200, card(model));
}

function card(model: Model) {
  return {
    type: "model",
    id: model.name,
    display_name: model.name,
    created_at: "2026-01-15T00:00:00Z",
    max_input_tokens: model.contextLength,
    max_tokens: traitsOf(model).maxOutputTokens,
  };
}
