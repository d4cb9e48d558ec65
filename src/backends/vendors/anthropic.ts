import { z } from "zod";
import { readContextOverflow } from "../../codecs/messages/client/vendor-errors.ts";
import { messagesClient } from "../../codecs/messages/client.ts";
import type { ChatRequest } from "../../core/chat/chat-request.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { Backend, Model } from "../backend.ts";
import { inDialect } from "../rules/concessions.ts";
import { isToolForced, LEAST_BUDGET_TOKENS } from "../rules/conditions.ts";
import { type EffortRule, nearestEffort } from "../rules/effort-rule.ts";
import { capTemperature, type ParameterTable, withoutAllTokens } from "../rules/parameter-rules.ts";
import { createChat } from "../run-chat.ts";
import { askCount } from "../upstream/ask-count.ts";
import { askStatus } from "../upstream/ask-upstream.ts";
import { type CloudSetup, cloudModels } from "./cloud.ts";

const NAME = "anthropic";
/** The newer API version has no sampling parameters at all. */
const VERSION = "2023-06-01";
const MOST_BUDGET_TOKENS = 8_192;
/** The upper end of its temperature scale. */
const HOTTEST = 1;

/** The column "Cloud vendor 2". */
export const ANTHROPIC_PARAMETERS: ParameterTable = {
  temperature: { rule: "only-when", all: ["thinking-off", "takes-sampling"] },
  top_p: {
    rule: "exclusive",
    yieldsTo: "temperature",
    all: ["thinking-off", "takes-sampling"],
  },
  top_k: { rule: "only-when", all: ["thinking-off", "takes-sampling"] },
  max_tokens: { rule: "clamp", to: "model-limit" },
  reasoning_effort: { rule: "effort" },
  tools: { rule: "apply" },
  stream: { rule: "apply" },
  others: { rule: "ignore", forward: [] },
};

/** The row of the newer generation: adaptive thinking plus effort. */
export const ANTHROPIC_NEWER_EFFORT: EffortRule = {
  table: { none: "off", low: "low", medium: "medium", high: "high", max: "max" },
  unless: ["not-reasoning"],
  offWhen: ["forced-tool"],
  fields(setting, model, { leavesThinking }): JsonObject {
    if (setting === "off") {
      return model.efforts?.includes("none") === true ? { thinking: { type: "disabled" } } : {};
    }
    const effort = nearestEffort(setting === "on" ? "high" : setting, model);
    return {
      ...(leavesThinking !== true && { thinking: { type: "adaptive" } }),
      ...(effort && { output_config: { effort } }),
    };
  },
};

/** The row of the older generation: on or off. Off sends nothing. */
export const ANTHROPIC_OLDER_EFFORT: EffortRule = {
  table: { none: "default", low: "on", medium: "on", high: "on", max: "on" },
  unless: ["not-reasoning", "short-answer", "forced-tool"],
  isOffUnsaid: true,
  fields(_setting, _model, { parameters, leavesThinking }): JsonObject {
    // These models express effort only by thinking.
    if (leavesThinking === true) return {};
    const half = Math.floor((parameters.maxOutputTokens ?? Number.POSITIVE_INFINITY) / 2);
    const budget = Math.max(LEAST_BUDGET_TOKENS, Math.min(half, MOST_BUDGET_TOKENS));
    return { thinking: { type: "enabled", budget_tokens: budget } };
  },
};

/** For models that refuse system messages in the middle of a conversation although the table does not list them. */
const TELLING_SYSTEM = inDialect(
  (message) => /role ['"]?system['"]? is not supported|unexpected role ['"]?system/i.test(message),
  {
    ...messagesClient,
    build: (request, model) => messagesClient.build(request, { ...model, midSystem: false }),
  },
);

const tokenCount = z
  .object({ input_tokens: z.number().int().nonnegative() })
  .transform(({ input_tokens }) => input_tokens);
/** The members of a call that its token counter accepts. */
const COUNTED = ["model", "messages", "system", "tools", "tool_choice", "thinking"] as const;

/** The first version of these tools, all of which need the vendor's beta header. Of later ones only `computer` does. */
const FIRST_NATIVE = "20241022";

/** Returns the beta header that the tools of a request need. Each version of `computer` has its own. */
function betaHeaders({ tools }: ChatRequest): Readonly<Record<string, string>> | undefined {
  const versions = tools.flatMap(({ native }) => {
    const [, name, version = ""] = native?.type.match(/^(.+)_(\d{8})$/) ?? [];
    return name === "computer" || version === FIRST_NATIVE ? [version] : [];
  });
  if (versions.length === 0) return undefined;
  const betas = versions.map((date) => date.replace(/^(....)(..)/, "computer-use-$1-$2-"));
  return { "anthropic-beta": [...new Set(betas)].join(",") };
}

/** Cloud vendor 2. */
export function createAnthropic({ upstream: given, models, forward, memory }: CloudSetup): Backend {
  const upstream = {
    ...given,
    address: given.address.replace(/\/v1$/, ""),
    headers: { ...given.headers, "anthropic-version": VERSION },
  };
  const chat = createChat({
    upstream,
    path: () => "/v1/messages",
    codec: messagesClient,
    parameters: { ...ANTHROPIC_PARAMETERS, others: { rule: "ignore", forward } },
    effort: ({ generation }) =>
      generation === "older" ? ANTHROPIC_OLDER_EFFORT : ANTHROPIC_NEWER_EFFORT,
    concessions: [TELLING_SYSTEM],
    memory,
    takesNativeTools: true,
    headers: betaHeaders,
    readOverflow: readContextOverflow,
    adapt,
  });
  return {
    name: NAME,
    chat: chat.run,
    listModels: async () => cloudModels(NAME, { models, forward }),
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/v1/models?limit=1", signal })) !== undefined,
    countsMedia: true,
    async countTokens(request, model, options) {
      const prepared = chat.prepare(request, model, options);
      const { id: name, contextLength, midSystem } = model;
      const target = { name, contextLength, midSystem };
      const whole: unknown = JSON.parse(messagesClient.build(prepared, target));
      if (!isJsonObject(whole)) return undefined;
      const body = JSON.stringify(
        Object.fromEntries(COUNTED.map((member) => [member, whole[member]])),
      );
      const path = "/v1/messages/count_tokens";
      const question = { path, headers: betaHeaders(prepared), body, signal: options.signal };
      return askCount(upstream, question, tokenCount);
    },
  };
}

/** A model that always thinks cannot be forced to call a tool, so the choice becomes `auto`. */
function adapt(request: ChatRequest, model: Model): ChatRequest {
  const adapted = withoutAllTokens(capTemperature(request, HOTTEST));
  const alwaysThinks =
    model.thinking && model.generation !== "older" && model.efforts?.includes("none") !== true;
  if (!alwaysThinks || !isToolForced(request)) return adapted;
  return { ...adapted, toolChoice: { type: "auto" } };
}
