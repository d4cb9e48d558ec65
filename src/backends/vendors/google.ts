import { z } from "zod";
import { generateContentClient } from "../../codecs/generate-content/client.ts";
import {
  readContextOverflow,
  readRetryDelay,
} from "../../codecs/generate-content/vendor-errors.ts";
import { readVendorError } from "../../codecs/shared/errors/vendor-message.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import type { Backend, Model } from "../backend.ts";
import type { EffortRule } from "../rules/effort-rule.ts";
import { type ParameterTable, withoutAllTokens } from "../rules/parameter-rules.ts";
import { createChat } from "../run-chat.ts";
import { askCount } from "../upstream/ask-count.ts";
import { askStatus } from "../upstream/ask-upstream.ts";
import type { UpstreamRefusal } from "../upstream/upstream-refusal.ts";
import { type CloudSetup, cloudModels } from "./cloud.ts";

const NAME = "google";

/** The column "Cloud vendor 3". */
export const GOOGLE_PARAMETERS: ParameterTable = {
  temperature: { rule: "apply" },
  top_p: { rule: "apply" },
  top_k: { rule: "apply" },
  max_tokens: { rule: "ignore" },
  reasoning_effort: { rule: "effort" },
  tools: { rule: "apply" },
  stream: { rule: "apply" },
  others: { rule: "ignore", forward: [] },
};

/** The maximum thinking budget of all older models. */
const MOST_BUDGET_TOKENS = 24_576;
/** The minimum of those whose thinking cannot be disabled, and one that all others take: Flash-Lite takes no less. */
const LEAST_BUDGET_TOKENS = { always: 128, sometimes: 512 };

/** The row "Cloud vendor 3". The older generation takes a budget, the newer one a level, and no model takes both. */
export const GOOGLE_EFFORT: EffortRule = {
  table: { none: "off", low: "default", medium: "default", high: "on", max: "on" },
  unless: ["not-reasoning"],
  fields(setting, { generation, efforts = [] }, { parameters }) {
    const thinks = setting !== "off";
    const lowest = efforts[0] ?? "low";
    if (generation === "older") {
      const { always, sometimes } = LEAST_BUDGET_TOKENS;
      const canRest = lowest === "none";
      if (!thinks) return { thinkingConfig: { thinkingBudget: canRest ? 0 : always } };
      // Thoughts count towards the limit of the answer.
      const half = Math.floor((parameters.maxOutputTokens ?? Number.POSITIVE_INFINITY) / 2);
      const least = canRest ? sometimes : always;
      const thinkingBudget = Math.max(least, Math.min(half, MOST_BUDGET_TOKENS));
      return { thinkingConfig: shown({ thinkingBudget }) };
    }
    const thinkingLevel = (thinks ? "high" : lowest).toUpperCase();
    return { thinkingConfig: thinks ? shown({ thinkingLevel }) : { thinkingLevel } };
  },
};

/** Thoughts are returned only on request; this is set only when thinking is on. */
function shown<Config>(config: Config): Config & { readonly includeThoughts: true } {
  return { ...config, includeThoughts: true };
}

const tokenCount = z
  .object({ totalTokens: z.number().int().nonnegative() })
  .transform(({ totalTokens }) => totalTokens);

/** Cloud vendor 3. */
export function createGoogle({ upstream, models, forward, memory }: CloudSetup): Backend {
  const chat = createChat({
    upstream,
    path: (model, stream) =>
      pathOf(model) + (stream ? ":streamGenerateContent?alt=sse" : ":generateContent"),
    codec: generateContentClient,
    parameters: { ...GOOGLE_PARAMETERS, others: { rule: "ignore", forward } },
    effort: () => GOOGLE_EFFORT,
    concessions: [],
    memory,
    sealsTexts: true,
    readOverflow: readContextOverflow,
    readRefusalBody: readGoogleRefusal,
    adapt: withoutAllTokens,
  });
  return {
    name: NAME,
    chat: chat.run,
    listModels: async () => cloudModels(NAME, { models, forward }),
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/models?pageSize=1", signal })) !== undefined,
    countsMedia: true,
    countTokens(request, model, options) {
      const { id: name, contextLength } = model;
      const call = generateContentClient.build(chat.prepare(request, model, options), {
        name,
        contextLength,
      });
      // The request contains the call unchanged, with the model's name added in front.
      const named = `{"model":${JSON.stringify(resourceOf(model))},${call.slice(1)}`;
      const question = {
        path: `${pathOf(model)}:countTokens`,
        body: `{"generateContentRequest":${named}}`,
        signal: options.signal,
      };
      return askCount(upstream, question, tokenCount);
    },
  };
}

/** Returns `models/gemini-…`; a name with a prefix of its own (`tunedModels/…`) is used as it is. */
function resourceOf({ id }: Model): string {
  return id.includes("/") ? id : `models/${id}`;
}

function pathOf(model: Model): string {
  return `/${resourceOf(model).split("/").map(encodeURIComponent).join("/")}`;
}

/** Reads what Gemini reports only in the body of a refusal: that a 400 is about our key, and how long to wait. */
function readGoogleRefusal(body: string): Partial<UpstreamRefusal> {
  if (isKeyInvalid(readVendorError(body)?.["details"])) return { status: 401 };
  const retryAfterSeconds = readRetryDelay(body);
  return retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
}

function isKeyInvalid(details: unknown): boolean {
  if (!Array.isArray(details)) return false;
  return details.some((detail) => isJsonObject(detail) && detail["reason"] === "API_KEY_INVALID");
}
