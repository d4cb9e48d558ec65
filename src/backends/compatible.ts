import { createChatCompletionsClient } from "../codecs/chat-completions/client.ts";
import { readContextOverflow } from "../codecs/chat-completions/context-overflow.ts";
import {
  type Dialect,
  MISTRAL_DIALECT,
  PLAIN_DIALECT,
} from "../codecs/chat-completions/dialect.ts";
import { askStatus } from "./ask-upstream.ts";
import type { Backend } from "./backend.ts";
import { type CloudSetup, cloudModels } from "./cloud.ts";
import type { EffortRule } from "./effort-rule.ts";
import type { ParameterTable } from "./parameter-rules.ts";
import { readOutputLimit } from "./read-output-limit.ts";
import { createChat } from "./run-chat.ts";

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

/** The row "Cloud vendor 4": unsupported, so the model's default. */
export const COMPATIBLE_EFFORT: EffortRule = {
  table: { none: "default", low: "default", medium: "default", high: "default", max: "default" },
  fields: () => ({}),
};

/** Clouds whose format is not the plain one, by their hosts. */
const DIALECTS: readonly (readonly [host: RegExp, dialect: Dialect])[] = [
  [/(^|\.)mistral\.ai$/, MISTRAL_DIALECT],
];

function dialectOf(address: string): Dialect {
  const { hostname } = new URL(address);
  return DIALECTS.find(([host]) => host.test(hostname))?.[1] ?? PLAIN_DIALECT;
}

/** Cloud vendor 4: any cloud that speaks the chat-completions format. */
export function createCompatible({ upstream, models, forward, memory }: CloudSetup): Backend {
  const chat = createChat({
    upstream,
    path: () => "/chat/completions",
    codec: createChatCompletionsClient(dialectOf(upstream.address)),
    parameters: { ...COMPATIBLE_PARAMETERS, others: { rule: "ignore", forward } },
    effort: () => COMPATIBLE_EFFORT,
    omissions: [],
    memory,
    readOverflow: readContextOverflow,
    readOutputLimit,
  });
  return {
    name: NAME,
    chat: chat.run,
    listModels: async () => cloudModels(NAME, models),
    isReachable: async (signal) =>
      (await askStatus(upstream, { path: "/models", signal })) !== undefined,
  };
}
