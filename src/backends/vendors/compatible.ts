import {
  type Dialect,
  MISTRAL_DIALECT,
  PLAIN_DIALECT,
  STRICT_DIALECT,
} from "../../codecs/chat-completions/client/dialect.ts";
import { createChatCompletionsClient } from "../../codecs/chat-completions/client.ts";
import { readContextOverflow } from "../../codecs/shared/errors/openai-overflow.ts";
import type { Settings } from "../../config/settings.ts";
import type { ContextOverflow } from "../../core/context-overflow.ts";
import type { Backend } from "../backend.ts";
import { inDialect, TELLING_SYSTEM, withThoughts } from "../rules/concessions.ts";
import type { EffortRule } from "../rules/effort-rule.ts";
import { capTemperature, type ParameterTable } from "../rules/parameter-rules.ts";
import { readOutputLimit } from "../rules/read-output-limit.ts";
import { createChat } from "../run-chat.ts";
import { askStatus } from "../upstream/ask-upstream.ts";
import { type CloudSetup, cloudModels } from "./cloud.ts";

const NAME = "compatible";

/** The column "Cloud vendor 4". */
export const COMPATIBLE_PARAMETERS: ParameterTable = {
  temperature: { rule: "apply" },
  top_p: { rule: "apply" },
  top_k: { rule: "ignore" },
  max_tokens: { rule: "apply" },
  reasoning_effort: { rule: "ignore" },
  tools: { rule: "apply" },
  stream: { rule: "apply" },
  others: { rule: "ignore", forward: [] },
};

/** The row "Cloud vendor 4": effort is not supported, so the model's default applies. */
export const COMPATIBLE_EFFORT: EffortRule = {
  table: { none: "default", low: "default", medium: "default", high: "default", max: "default" },
  fields: () => ({}),
};

interface Habits {
  readonly dialect: Dialect;
  /** The upper end of its temperature scale. */
  readonly hottest: number;
}

const PLAIN: Habits = { dialect: PLAIN_DIALECT, hottest: 2 };

/** Clouds that deviate from the others, by a word in their host names. */
const HABITS = {
  mistral: { dialect: MISTRAL_DIALECT, hottest: 1.5 },
  groq: { ...PLAIN, dialect: { ...PLAIN_DIALECT, takesThoughts: false } },
} as const satisfies Readonly<Record<string, Habits>>;

/** Returns the habits of the vendor that the operator names, else those that the host name suggests. */
function habitsOf(vendor: Settings["COMPATIBLE_VENDOR"], address: string): Habits {
  if (vendor === "other") return PLAIN;
  if (vendor !== undefined) return HABITS[vendor];
  const { hostname } = new URL(address);
  return Object.entries(HABITS).find(([name]) => hostname.includes(name))?.[1] ?? PLAIN;
}

/** For other clouds that refuse unknown fields. */
const STRICT = inDialect(
  (message) => /extra inputs are not permitted|property '[^']*' is unsupported/i.test(message),
  createChatCompletionsClient(STRICT_DIALECT),
);

const THOUGHTFUL = withThoughts((message) => /missing `?reasoning_content/i.test(message));

/** Some clouds report no numbers. */
const TOO_LONG = /reduce the length of the messages|too many tokens: size limit exceeded/i;

function readOverflow(message: string): ContextOverflow | undefined {
  const overflow = readContextOverflow(message);
  if (overflow !== undefined || !TOO_LONG.test(message)) return overflow;
  return { contextLength: undefined, promptTokens: undefined };
}

/** Cloud vendor 4: any cloud that speaks the chat-completions format. */
export function createCompatible(
  { upstream, models, forward, memory }: CloudSetup,
  { COMPATIBLE_VENDOR: vendor }: Pick<Settings, "COMPATIBLE_VENDOR">,
): Backend {
  const { dialect, hottest } = habitsOf(vendor, upstream.address);
  const chat = createChat({
    upstream,
    path: () => "/chat/completions",
    codec: createChatCompletionsClient(dialect),
    parameters: { ...COMPATIBLE_PARAMETERS, others: { rule: "ignore", forward } },
    effort: () => COMPATIBLE_EFFORT,
    concessions: [STRICT, THOUGHTFUL, TELLING_SYSTEM],
    memory,
    readOverflow,
    readOutputLimit,
    adapt: (request) => capTemperature(request, hottest),
  });
  return {
    name: NAME,
    chat: chat.run,
    listModels: async () => cloudModels(NAME, { models, forward }),
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/models", signal })) !== undefined,
  };
}
