import { alphanumeric } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import { EngineError } from "../engine-error.ts";
import { objectsOf } from "../json.ts";
import type { Usage } from "../ledger.ts";
import { baseMessage, baseStyle } from "./base-style.ts";
import { checkConversation } from "./check-conversation.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";

const fields = new Set(
  `citation_options compound_custom disable_tool_validation documents exclude_domains frequency_penalty function_call
   functions include_domains include_reasoning logit_bias logprobs max_completion_tokens max_tokens messages metadata
   model n parallel_tool_calls presence_penalty reasoning_effort reasoning_format response_format search_settings seed
   service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p user`.split(
    /\s+/,
  ),
);
const messageFields = ["role", "content", "name", "tool_calls", "tool_call_id", "reasoning"];
const failure: Failure = {
  status: 503,
  body: { error: { message: "Service unavailable", type: "internal_server_error" } },
};

/** Groq: usage is also in `x_groq` of the last chunk; calls come whole. */
export const groq: CompatibleVendor = {
  ids: /^(llama-|qwen\/|groq\/)/,
  check(body, { name }) {
    const unknown = Object.keys(body).find((field) => !fields.has(field));
    if (unknown !== undefined) throw invalid(`property '${unknown}' is unsupported`);
    const messages = objectsOf(body["messages"]);
    messages.forEach((message, index) => {
      const other = Object.keys(message).find((field) => !messageFields.includes(field));
      if (other === undefined) return;
      throw invalid(
        `'messages.${index}' : for 'role:${String(message["role"])}' the following must be satisfied[('messages.${index}' : property '${other}' is unsupported)]`,
      );
    });
    checkConversation(messages, invalid);
    return /^qwen\//.test(name) && body["reasoning_effort"] !== "none";
  },
  styleOf: (entry, model) => {
    const base = baseStyle(entry, model, failure);
    return {
      ...base,
      head: { ...base.head, id: `chatcmpl-${entry.id}`, system_fingerprint: "fp_simulator" },
      openingTail: { x_groq: { id: `req_${entry.id}`, seed: 1 } },
      choice: { logprobs: null, finish_reason: null },
      opening: { role: "assistant", content: null },
      reasoningDelta: (text) => ({ reasoning: text }),
      toolCalls: "whole",
      usage: "finish",
      renderUsage,
      finishTail: (usage) => ({
        x_groq: { id: `req_${entry.id}`, ...(usage ? { usage: renderUsage(usage) } : {}) },
      }),
      message: (said) => baseMessage(said, "reasoning"),
      wholeChoice: { logprobs: null },
      wholeTail: () => ({ usage_breakdown: null, x_groq: { id: `req_${entry.id}`, seed: 1 } }),
    };
  },
  figures: [],
  newCallId: (random) => alphanumeric(random, 9).toLowerCase(),
  overflow: () =>
    invalid("Please reduce the length of the messages or completion.", {
      param: "messages",
      code: "context_length_exceeded",
    }),
  failure,
};

function invalid(message: string, more: object = {}): EngineError {
  return new EngineError(400, { error: { message, type: "invalid_request_error", ...more } });
}

function renderUsage({ inputTokens, outputTokens }: Usage) {
  return {
    queue_time: 0.041,
    prompt_tokens: inputTokens,
    prompt_time: 0.01,
    completion_tokens: outputTokens,
    completion_time: 0.046,
    total_tokens: inputTokens + outputTokens,
    total_time: 0.057,
  };
}
