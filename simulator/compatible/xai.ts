import { hexadecimal } from "../content/random.ts";
import type { Failure } from "../content/speak.ts";
import { EngineError } from "../engine-error.ts";
import { type Json, objectsOf } from "../json.ts";
import type { Usage } from "../ledger.ts";
import { baseMessage, baseStyle } from "./base-style.ts";
import { checkConversation } from "./check-conversation.ts";
import type { CompatibleVendor } from "./compatible-vendor.ts";

const INVALID = "Client specified an invalid argument";
/** Parameters that its reasoning models do not accept. */
const refused: Readonly<Record<string, string>> = {
  presence_penalty: "presencePenalty",
  frequency_penalty: "frequencyPenalty",
  stop: "stop",
  reasoning_effort: "reasoningEffort",
};
const failure: Failure = {
  status: 503,
  body: { code: "The service is currently unavailable", error: "Service temporarily unavailable." },
};

/** xAI: the error is a string, calls come whole, and chunks have no `finish_reason` before the end of the answer. */
export const xai: CompatibleVendor = {
  ids: /^grok-/,
  check(body) {
    const named = Object.keys(body).find((name) => body[name] != null && refused[name]);
    if (named) throw invalid(`Argument not supported on this model: ${refused[named]}`);
    checkConversation(objectsOf(body["messages"]), invalid);
    return true;
  },
  styleOf: (entry, model) => ({
    ...baseStyle(entry, model, failure),
    tail: { system_fingerprint: "fp_simulator" },
    choice: {},
    toolCalls: "whole",
    renderUsage,
    message: (said) => ({ ...baseMessage(said, "reasoning_content"), refusal: null }),
  }),
  figures: ["cachedTokens", "reasoningTokens"],
  newCallId: (random) => `call_${hexadecimal(random, 8)}`,
  overflow: (promptTokens, { contextLength }) =>
    invalid(
      `This model's maximum prompt length is ${contextLength} but the request contains ${promptTokens} tokens.`,
    ),
  failure,
};

function invalid(error: string): EngineError {
  return new EngineError(400, { code: INVALID, error });
}

/** Renders the usage. Reasoning tokens are not part of the completion tokens; only the total includes both. */
function renderUsage({ cachedTokens = 0, ...usage }: Usage): Json {
  const { inputTokens, outputTokens, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens - reasoningTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      text_tokens: inputTokens,
      audio_tokens: 0,
      image_tokens: 0,
      cached_tokens: cachedTokens,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    num_sources_used: 0,
    cost_in_usd_ticks: 0,
  };
}
