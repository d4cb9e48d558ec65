import type { ChatStyle, Said } from "../chat/chat-style.ts";
import type { Failure } from "../content/speak.ts";
import type { Json } from "../json.ts";
import type { LedgerEntry, Usage } from "../ledger.ts";
import type { Model } from "../models.ts";

/** The style that most compatible clouds share; each vendor overrides its differences. */
export function baseStyle(entry: LedgerEntry, model: Model, failure: Failure): ChatStyle {
  return {
    head: {
      id: entry.id,
      object: "chat.completion.chunk",
      created: Math.floor(entry.beganAt / 1000),
      model: model.name,
    },
    tail: {},
    openingTail: {},
    choice: { finish_reason: null },
    opening: { role: "assistant", content: "" },
    openingWithCall: null,
    textDelta: (content) => ({ content }),
    reasoningDelta: (text) => ({ reasoning_content: text }),
    toolCalls: "pieces",
    callOf: ({ arguments: text, id, name }, index) => ({
      index,
      id,
      type: "function",
      function: { name, arguments: text },
    }),
    finishDelta: {},
    usage: "always",
    usageChoices: [],
    renderUsage,
    finishTail: () => ({}),
    comment: undefined,
    message: (said) => baseMessage(said, "reasoning_content"),
    wholeChoice: {},
    wholeTail: () => ({}),
    frameError: (body) => `data: ${JSON.stringify(body ?? failure.body)}\n\n`,
  };
}

export function baseMessage({ calls, reasoning, text }: Said, field: string): Json {
  return {
    role: "assistant",
    content: text,
    ...(reasoning === "" ? {} : { [field]: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function renderUsage(usage: Usage): Json {
  const { cachedTokens = 0, inputTokens, outputTokens, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}
