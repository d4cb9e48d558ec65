import { createHash } from "node:crypto";
import { type Call, sendJson } from "../call.ts";
import { stringOf } from "../json.ts";
import { type Capability, findModel, type Model } from "../models.ts";
import { fullName } from "./find-local-model.ts";

const MODIFIED_AT = "2026-01-01T00:00:00Z";
const SIZE_BYTES = 1_000_000_000;
const shownCapabilities: ReadonlySet<Capability> = new Set([
  "completion",
  "tools",
  "vision",
  "thinking",
  "embedding",
  "audio",
]);

/** Handles GET /api/tags. No other server of this format says `simulated`. */
export function listTags(call: Call): Promise<void> {
  const { legacy, models } = call.options;
  const list = models.map((model) => ({
    ...card(model),
    modified_at: MODIFIED_AT,
    simulated: true,
    ...(legacy ? {} : { capabilities: capabilities(model) }),
  }));
  return sendJson(call, 200, { models: list });
}

/** Handles POST /api/show. */
export function showModel(call: Call): Promise<void> {
  const name = stringOf(call.body["model"]) ?? stringOf(call.body["name"]);
  const model = findModel(call.options.models, name);
  if (!model) return sendJson(call, 404, { error: `model '${name}' not found` });
  const family = model.family ?? "sim";
  return sendJson(call, 200, {
    modelfile: `FROM ${model.name}`,
    parameters: "temperature 0.7",
    template: "{{ .Prompt }}",
    details: details(model),
    model_info: {
      "general.architecture": family,
      [`${family}.context_length`]: model.contextLength,
      [`${family}.embedding_length`]: model.dimensions ?? 4096,
    },
    capabilities: capabilities(model),
    modified_at: MODIFIED_AT,
  });
}

/** Handles GET /api/ps: every model counts as loaded. */
export function listRunning(call: Call): Promise<void> {
  const models = call.options.models.map((model) => ({
    ...card(model),
    expires_at: "2318-01-01T00:00:00Z",
    size_vram: SIZE_BYTES,
    context_length: model.contextLength,
  }));
  return sendJson(call, 200, { models });
}

function card(model: Model): object {
  const name = fullName(model);
  const digest = createHash("sha256").update(name).digest("hex");
  return { name, model: name, size: SIZE_BYTES, digest, details: details(model) };
}

function details({ family = "sim", parameterSize = "1B" }: Model): object {
  return {
    parent_model: "",
    format: "gguf",
    family,
    families: [family],
    parameter_size: parameterSize,
    quantization_level: "Q4_K_M",
  };
}

function capabilities(model: Model): Capability[] {
  return model.capabilities.filter((capability) => shownCapabilities.has(capability));
}
