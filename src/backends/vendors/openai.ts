import { OPENAI_DIALECT } from "../../codecs/chat-completions/client/dialect.ts";
import { createChatCompletionsClient } from "../../codecs/chat-completions/client.ts";
import { responsesClient } from "../../codecs/responses/client.ts";
import { readContextOverflow } from "../../codecs/shared/errors/openai-overflow.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Backend, VendorEffort } from "../backend.ts";
import { withoutEffort } from "../rules/concessions.ts";
import { type EffortRule, nearestEffort } from "../rules/effort-rule.ts";
import { withMaxOutputTokens } from "../rules/fit-output.ts";
import type { ParameterTable } from "../rules/parameter-rules.ts";
import { readOutputLimit } from "../rules/read-output-limit.ts";
import { type ChatEngine, createChat } from "../run-chat.ts";
import { askStatus } from "../upstream/ask-upstream.ts";
import { type CloudSetup, cloudModels } from "./cloud.ts";

const NAME = "openai";
/** The smallest limit that the newer interface accepts. */
const LEAST_OUTPUT_TOKENS = 16;

/** The column "Cloud vendor 1". */
export const OPENAI_PARAMETERS: ParameterTable = {
  temperature: { rule: "only-when", all: ["not-reasoning"] },
  top_p: { rule: "only-when", all: ["not-reasoning"] },
  top_k: { rule: "ignore" },
  max_tokens: { rule: "rename", to: "max_completion_tokens", when: "reasoning" },
  reasoning_effort: { rule: "effort" },
  tools: { rule: "ignore" },
  stream: { rule: "apply" },
  others: { rule: "ignore", forward: [] },
};

/** The row "Cloud vendor 1 reasoning models": as requested, or the model's nearest level. */
export const OPENAI_EFFORT: EffortRule = openaiEffort((effort) => ({ reasoning_effort: effort }));

/** The same in the responses interface, which returns thoughts on request. */
const OPENAI_RESPONSES_EFFORT: EffortRule = openaiEffort((effort) => ({
  reasoning: { effort, summary: "auto" },
}));

function openaiEffort(say: (effort: VendorEffort) => JsonObject): EffortRule {
  return {
    table: { none: "off", low: "low", medium: "medium", high: "high", max: "max" },
    unless: ["not-reasoning", "uses-tools"],
    fields(setting, model) {
      if (setting === "off") return model.efforts?.includes("none") === true ? say("none") : {};
      const effort = nearestEffort(setting === "on" ? "high" : setting, model);
      return effort === undefined ? {} : say(effort);
    },
  };
}

/** Cloud vendor 1. Some of its models are served only by its newer interface. */
export function createOpenai({ upstream, models, forward, memory }: CloudSetup): Backend {
  const completions: ChatEngine = {
    upstream,
    path: () => "/chat/completions",
    codec: createChatCompletionsClient(OPENAI_DIALECT),
    parameters: { ...OPENAI_PARAMETERS, others: { rule: "ignore", forward } },
    effort: () => OPENAI_EFFORT,
    concessions: [withoutEffort((message) => /reasoning[_. ](effort|summar)/i.test(message))],
    memory,
    readOverflow: readContextOverflow,
    readOutputLimit,
  };
  const responses: ChatEngine = {
    ...completions,
    path: () => "/responses",
    codec: responsesClient,
    // The limit has one name for all models there.
    parameters: { ...completions.parameters, max_tokens: { rule: "apply" } },
    effort: () => OPENAI_RESPONSES_EFFORT,
    adapt: withLeastOutput,
  };
  const chats = { chat: createChat(completions), responses: createChat(responses) };
  return {
    name: NAME,
    chat: (request, model, options) => chats[model.api ?? "chat"].run(request, model, options),
    listModels: async () => cloudModels(NAME, { models, forward }),
    leastOutputTokens: ({ api }) => (api === "responses" ? LEAST_OUTPUT_TOKENS : 1),
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/models", signal })) !== undefined,
  };
}

function withLeastOutput(request: ChatRequest): ChatRequest {
  const { maxOutputTokens = LEAST_OUTPUT_TOKENS } = request.parameters;
  return maxOutputTokens < LEAST_OUTPUT_TOKENS
    ? withMaxOutputTokens(request, LEAST_OUTPUT_TOKENS)
    : request;
}
