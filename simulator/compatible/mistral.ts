import { alphanumeric } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import type { EngineError } from "../engine-error.ts";
import type { Usage } from "../ledger.ts";
import type { Model } from "../models.ts";
import { baseStyle } from "./base-style.ts";
import { checkMistral } from "./check-mistral.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";
import { mistralError } from "./mistral-error.ts";

const failure: Failure = {
  status: 503,
  body: mistralError(503, {
    message: "Service unavailable.",
    type: "unreachable_backend",
    code: "1100",
  }).body,
};

/** Mistral: reasoning is part of the content; the last chunk contains whole calls and the usage. */
export const mistral: CompatibleVendor = {
  ids: /./,
  check(body, model) {
    checkMistral(body);
    return isReasoning(model);
  },
  styleOf: (entry, model) => ({
    ...baseStyle(entry, model, failure),
    choice: isReasoning(model) ? { finish_reason: null } : { finish_reason: null, logprobs: null },
    textDelta: (text) => ({
      content: isReasoning(model) ? [{ type: "text", text }] : text,
    }),
    reasoningDelta: (text) => ({ content: [thinkingPart(text)] }),
    toolCalls: "with-finish",
    callOf: ({ arguments: text, id, name }) => ({ id, function: { name, arguments: text } }),
    finishDelta: { content: "" },
    usage: "finish",
    renderUsage,
    message: ({ calls, reasoning, text }) => ({
      role: "assistant",
      content: reasoning === "" ? text : [thinkingPart(reasoning), { type: "text", text }],
      tool_calls: calls.length > 0 ? calls : null,
    }),
  }),
  figures: ["cachedTokens"],
  newCallId: (random) => alphanumeric(random, 9),
  overflow: (promptTokens, { contextLength }): EngineError =>
    mistralError(400, {
      message: `Prompt contains ${promptTokens} tokens and 0 draft tokens, too large for model with ${contextLength} maximum context length`,
      type: "invalid_request_prompt",
      code: "3051",
    }),
  failure,
};

function isReasoning({ name }: Model): boolean {
  return /^magistral/.test(name);
}

function thinkingPart(text: string) {
  return { type: "thinking", thinking: [{ type: "text", text }] };
}

function renderUsage({ cachedTokens = 0, inputTokens, outputTokens }: Usage) {
  return {
    prompt_tokens: inputTokens,
    total_tokens: inputTokens + outputTokens,
    completion_tokens: outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
