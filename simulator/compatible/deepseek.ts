import { alphanumeric } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import { EngineError } from "../engine-error.ts";
import { type Json, objectsOf, stringOf } from "../json.ts";
import type { Usage } from "../ledger.ts";
import type { Model } from "../models.ts";
import { baseStyle } from "./base-style.ts";
import { checkConversation } from "./check-conversation.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";

const failure: Failure = {
  status: 503,
  body: {
    error: {
      message: "Service is too busy.",
      type: "service_unavailable_error",
      param: null,
      code: "service_unavailable_error",
    },
  },
};

/** DeepSeek: content is null while reasoning is sent and vice versa, and the cache has its own usage fields. */
export const deepseek: CompatibleVendor = {
  ids: /^deepseek-/,
  check(body, model) {
    const messages = objectsOf(body["messages"]);
    checkConversation(messages, invalid);
    const thinks = isReasoning(model);
    if (thinks) checkReasoningComesBack(messages);
    return thinks;
  },
  styleOf: (entry, model) => {
    const thought = isReasoning(model) ? { reasoning_content: null } : {};
    const opening = isReasoning(model) ? { content: null, reasoning_content: "" } : { content: "" };
    const base = baseStyle(entry, model, failure);
    return {
      ...base,
      head: { ...base.head, system_fingerprint: "fp_simulator" },
      tail: { usage: null },
      choice: { logprobs: null, finish_reason: null },
      opening: { role: "assistant", ...opening },
      textDelta: (content) => ({ content, ...thought }),
      reasoningDelta: (text) => ({ content: null, reasoning_content: text }),
      finishDelta: { content: "", ...thought },
      usage: "finish",
      renderUsage,
      wholeChoice: { logprobs: null },
    };
  },
  figures: ["cachedTokens", "reasoningTokens"],
  newCallId: (random) => `call_00_${alphanumeric(random, 24)}`,
  overflow: (promptTokens, { contextLength }) =>
    invalid(
      `This model's maximum context length is ${contextLength} tokens. However, you requested ${promptTokens} tokens (${promptTokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.`,
    ),
  failure,
};

function isReasoning({ name }: Model): boolean {
  return /reasoner/.test(name);
}

function invalid(message: string): EngineError {
  const code = "invalid_request_error";
  return new EngineError(400, { error: { message, type: code, param: null, code } });
}

/** Checks that in a tool-call sequence the earlier reasoning is sent back. */
function checkReasoningComesBack(messages: readonly Json[]): void {
  const opening = messages.findLastIndex(({ role }) => role === "user");
  messages.forEach((message, index) => {
    const calls = objectsOf(message["tool_calls"]).length > 0;
    if (index < opening || !calls || stringOf(message["reasoning_content"]) !== undefined) return;
    throw invalid(
      `Missing \`reasoning_content\` field in the assistant message at message index ${index}.`,
    );
  });
}

function renderUsage({ cachedTokens = 0, ...usage }: Usage): Json {
  const { inputTokens, outputTokens, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    prompt_cache_hit_tokens: cachedTokens,
    prompt_cache_miss_tokens: inputTokens - cachedTokens,
  };
}
