import { alphanumeric } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import { EngineError } from "../engine-error.ts";
import { objectsOf } from "../json.ts";
import { baseMessage, baseStyle } from "./base-style.ts";
import { checkConversation } from "./check-conversation.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";

const failure: Failure = {
  status: 502,
  body: { error: { message: "Provider returned error", code: 502 }, user_id: "user_simulator" },
};

/** OpenRouter: comments while waiting, a role in every delta, and usage in a chunk that has a choice. */
export const openrouter: CompatibleVendor = {
  ids: /^(openrouter|anthropic|openai|google|meta-llama|moonshotai)\//,
  check(body) {
    checkConversation(objectsOf(body["messages"]), invalid);
    return body["reasoning"] != null || body["reasoning_effort"] != null;
  },
  styleOf: (entry, model) => {
    const base = baseStyle(entry, model, failure);
    const role = { role: "assistant" };
    return {
      ...base,
      head: { ...base.head, id: `gen-${entry.id}`, provider: "Simulator" },
      choice: { finish_reason: null, native_finish_reason: null, logprobs: null },
      textDelta: (content) => ({ ...role, content }),
      reasoningDelta: (text) => ({
        ...role,
        content: "",
        reasoning: text,
        reasoning_details: [{ type: "reasoning.text", text, format: "unknown", index: 0 }],
      }),
      finishDelta: { ...role, content: "" },
      usageChoices: [
        {
          index: 0,
          delta: { ...role, content: "" },
          finish_reason: null,
          native_finish_reason: null,
          logprobs: null,
        },
      ],
      comment: { text: "OPENROUTER PROCESSING", every: 4 },
      message: (said) => ({ ...baseMessage(said, "reasoning"), refusal: null }),
      wholeChoice: { native_finish_reason: "stop", logprobs: null },
      frameError: (body) => {
        const { error } = (body ?? failure.body) as { readonly error: unknown };
        const choice = { index: 0, delta: { content: "" }, finish_reason: "error" };
        return `data: ${JSON.stringify({ ...base.head, error, choices: [choice] })}\n\n`;
      },
    };
  },
  figures: ["cachedTokens", "reasoningTokens"],
  newCallId: (random) => `call_${alphanumeric(random, 24)}`,
  overflow: (promptTokens, { contextLength }) =>
    invalid(
      `This endpoint's maximum context length is ${contextLength} tokens. However, you requested about ${promptTokens} tokens (${promptTokens} of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
    ),
  failure,
};

function invalid(message: string): EngineError {
  return new EngineError(400, { error: { message, code: 400 }, user_id: "user_simulator" });
}
