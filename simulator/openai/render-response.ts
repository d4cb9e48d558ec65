import type { Call } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import { type Json, objectOf, objectsOf } from "../json.ts";
import type { Usage } from "../ledger.ts";
import type { Model } from "../models.ts";
import { type ItemStatus, renderItem } from "./render-item.ts";
import type { ResponseItem } from "./response-items.ts";

export interface ResponseState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly Json[];
  readonly usage: Usage | null;
  readonly incompleteReason?: string;
  readonly error?: Json;
}

/** The fields that are the same in every snapshot of one response. */
export interface ResponseHead {
  readonly call: Call;
  readonly model: Model;
  readonly effort: string | null;
}

/** Renders the response object, which repeats the request's settings. */
export function renderResponse({ call, model, effort }: ResponseHead, state: ResponseState): Json {
  const { body, entry } = call;
  const { error = null, incompleteReason, output, status, usage } = state;
  const isOver = status === "completed";
  return {
    ...unusedSettings,
    ...settingsOf(body, effort),
    id: `resp_${entry.id}`,
    created_at: Math.floor(entry.beganAt / 1000),
    status,
    completed_at: isOver ? Math.floor(Date.now() / 1000) : null,
    error,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    model: model.name,
    output,
    service_tier: isOver ? "default" : "auto",
    ...(status === "in_progress" || usage ? { usage: usage && renderUsage(usage) } : {}),
  };
}

const unusedSettings: Json = {
  object: "response",
  background: false,
  frequency_penalty: 0,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_retention: null,
  safety_identifier: null,
  top_logprobs: 0,
  user: null,
};

function settingsOf(body: Json, effort: string | null): Json {
  const text = objectOf(body["text"]);
  const format = text?.["format"] ?? { type: "text" };
  return {
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    reasoning: { effort, summary: objectOf(body["reasoning"])?.["summary"] ?? null },
    store: body["store"] ?? true,
    temperature: body["temperature"] ?? 1,
    text: { format, verbosity: text?.["verbosity"] ?? "medium" },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: objectsOf(body["tools"]).map(renderTool),
    top_p: body["top_p"] ?? 1,
    truncation: body["truncation"] ?? "disabled",
    metadata: body["metadata"] ?? {},
  };
}

function renderTool(tool: Json): Json {
  if (tool["type"] !== "function") return tool;
  const { name, description = null, parameters = null, strict = true } = tool;
  return { type: "function", description, name, parameters, strict };
}

function renderUsage(usage: Usage): Json {
  const { cachedTokens = 0, cacheWriteTokens = 0, inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

/** Returns how the answer ended, in this format's words. */
export function endOf(
  answer: Answer,
  items: readonly ResponseItem[],
  isBlocked: boolean,
): ResponseState {
  const reason = answer.finishReason === "length" ? "max_output_tokens" : undefined;
  const incompleteReason = isBlocked ? "content_filter" : reason;
  const output = items.map((item, index) =>
    renderItem(item, statusOf(incompleteReason, index === items.length - 1)),
  );
  if (incompleteReason === undefined) return { status: "completed", output, usage: answer.usage };
  return { status: "incomplete", output, usage: answer.usage, incompleteReason };
}

/** Returns the status of an item. Only the last item of a truncated answer is incomplete. */
export function statusOf(incompleteReason: string | undefined, isLast: boolean): ItemStatus {
  return incompleteReason !== undefined && isLast ? "incomplete" : "completed";
}
