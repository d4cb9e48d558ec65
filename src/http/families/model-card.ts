import { z } from "@hono/zod-openapi";
import type { Model } from "../../backends/backend.ts";
import type { JsonObject } from "../../lib/json/json.ts";

const tokens = z.number().int().nullable();
const support = z.object({ supported: z.boolean() });

/** One model, in the fields that clients of both families read. */
export const modelSchema = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: z.number().int().openapi({ description: "Unix seconds; 0 when not known." }),
    owned_by: z.string(),
    type: z.literal("model"),
    display_name: z.string(),
    created_at: z.string().openapi({ format: "date-time" }),
    max_input_tokens: tokens.openapi({ description: "Context in tokens; null when not known." }),
    max_tokens: tokens.openapi({
      description: "Tokens an answer may have at most; null when the context alone limits it.",
    }),
    capabilities: z
      .record(z.string(), z.looseObject({ supported: z.boolean() }))
      .openapi({ description: "What the model can do here." }),
    lifecycle: z.literal("active"),
    deprecated_at: z.null(),
    retires_at: z.null(),
    line: z.null(),
    ext: z.object({
      backend: z.string().nullable().openapi({
        description:
          "What answers: `vllm` or `ollama`, the local engine, or a cloud; null while an assistant has no model.",
      }),
      assistant_id: z.string().optional().openapi({
        description: "Only of an assistant, which is called by its name like a model.",
      }),
      slug: z.string().optional(),
      description: z.string().nullable().optional(),
    }),
  })
  .openapi("Model", {
    example: {
      id: "qwen3:latest",
      object: "model",
      created: 1_763_600_000,
      owned_by: "ollama",
      type: "model",
      display_name: "qwen3:latest",
      created_at: "2025-11-20T00:53:20.000Z",
      max_input_tokens: 32_768,
      max_tokens: null,
      capabilities: { tools: { supported: true }, image_input: { supported: false } },
      lifecycle: "active",
      deprecated_at: null,
      retires_at: null,
      line: null,
      ext: { backend: "ollama" },
    },
  });

export type ModelCard = JsonObject & { readonly id: string; readonly ext: JsonObject };

/** Builds the card of a model: the fields of both families side by side. */
export function modelCard(model: Model): ModelCard {
  const { id, created, ownedBy, contextLength, maxOutputTokens } = model;
  return {
    id,
    object: "model",
    created,
    owned_by: ownedBy,
    type: "model",
    display_name: id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: contextLength ?? null,
    max_tokens: maxOutputTokens ?? null,
    capabilities: capabilitiesOf(model),
    lifecycle: "active",
    deprecated_at: null,
    retires_at: null,
    line: null,
    ext: { backend: model.backend === "" ? null : model.backend },
  };
}

/**
 * Clients of the messages format expect every name, so abilities that the gateway does not offer are listed as
 * unsupported.
 */
function capabilitiesOf(model: Model): JsonObject {
  const { tools, vision, documents, audio, thinking, structuredOutputs = false } = model;
  return {
    tools: is(tools),
    image_input: is(vision),
    pdf_input: is(documents),
    audio_input: is(audio),
    thinking: {
      supported: thinking,
      types: {
        adaptive: is(thinking),
        enabled: is(thinking),
        disabled: is(true),
        between_tools: is(false),
      },
    },
    effort: {
      supported: thinking,
      low: is(thinking),
      medium: is(thinking),
      high: is(thinking),
      xhigh: is(thinking),
      max: is(thinking),
    },
    batch: is(false),
    citations: is(false),
    code_execution: is(false),
    context_management: {
      supported: false,
      clear_thinking_20251015: null,
      clear_tool_uses_20250919: null,
      compact_20260112: null,
    },
    server_tools: { supported: false, code_execution: is(false), web_search: is(false) },
    structured_outputs: is(structuredOutputs),
  };
}

function is(supported: boolean): z.output<typeof support> {
  return { supported };
}
