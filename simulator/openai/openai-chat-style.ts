import type { ChatStyle } from "../chat/chat-style.ts";
import type { LedgerEntry, Usage } from "../ledger.ts";
import { openAiFailure } from "./openai-failure.ts";

/** OpenAI's own style of chat completions. */
export function openAiChatStyle(
  entry: LedgerEntry,
  model: string,
  includesUsage: boolean,
): ChatStyle {
  return {
    head: {
      id: `chatcmpl-${entry.id}`,
      object: "chat.completion.chunk",
      created: Math.floor(entry.beganAt / 1000),
      model,
      service_tier: "default",
      system_fingerprint: "fp_simulator",
    },
    tail: { ...(includesUsage ? { usage: null } : {}), obfuscation: "Xq3vT" },
    openingTail: {},
    choice: { logprobs: null, finish_reason: null },
    opening: { role: "assistant", content: "", refusal: null },
    openingWithCall: { role: "assistant", content: null, refusal: null },
    textDelta: (content) => ({ content }),
    reasoningDelta: undefined,
    toolCalls: "pieces",
    callOf: ({ id, name, arguments: text }, index) => ({
      index,
      id,
      type: "function",
      function: { name, arguments: text },
    }),
    finishDelta: {},
    usage: "asked",
    usageChoices: [],
    renderUsage,
    finishTail: () => ({}),
    comment: undefined,
    message: ({ text, refusal, calls }) => ({
      role: "assistant",
      content: (text === "" && calls.length > 0) || refusal !== undefined ? null : text,
      refusal: refusal ?? null,
      annotations: [],
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    }),
    wholeChoice: { logprobs: null },
    wholeTail: () => ({}),
    frameError: (body) => `data: ${JSON.stringify(body ?? openAiFailure.body)}\n\n`,
  };
}

function renderUsage(usage: Usage) {
  const { cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      cache_write_tokens: cacheWriteTokens,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
