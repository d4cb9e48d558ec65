import { type Call, sendJson } from "../call.ts";

/** Handles GET /v1/models. No other server of this format says `simulated`. */
export function listModels(call: Call): Promise<void> {
  const data = call.options.models.map((model) => ({
    id: model.name,
    object: "model",
    created: 1_763_600_000,
    owned_by: "vllm",
    root: model.name,
    parent: null,
    max_model_len: model.contextLength,
    permission: [],
    simulated: true,
  }));
  return sendJson(call, 200, { object: "list", data });
}
