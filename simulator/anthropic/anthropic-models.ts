import type { Model } from "../models.ts";

export interface AnthropicTraits {
  /** The model ids of this generation; the first match is used. */
  readonly ids: RegExp;
  readonly thinking: readonly ("enabled" | "adaptive" | "disabled" | "between_tools")[];
  /** The model thinks when the request does not set `thinking`. */
  readonly thinksByDefault: boolean;
  readonly efforts: readonly string[];
  /** The highest effort with which thinking may be disabled or be `between_tools`. */
  readonly leastThinkingUpTo: "high" | "max";
  /** free: any value while not thinking. defaults: only temperature 1 and top_p from 0.99. */
  readonly sampling: "free" | "defaults";
  readonly temperatureAndTopP: boolean;
  readonly forcedTools: boolean;
  /** The conversation may end with the beginning of the model's answer. */
  readonly prefill: boolean;
  /** `role: "system"` may appear among the messages. */
  readonly systemTurns: boolean;
  readonly jsonSchema: boolean;
  readonly maxOutputTokens: number;
}

const budgeted = {
  thinking: ["enabled", "disabled"],
  thinksByDefault: false,
  efforts: [],
  leastThinkingUpTo: "max",
  sampling: "free",
  temperatureAndTopP: true,
  forcedTools: true,
  prefill: true,
  systemTurns: false,
  jsonSchema: false,
  maxOutputTokens: 64_000,
} as const;
const four5 = { ...budgeted, temperatureAndTopP: false, jsonSchema: true } as const;
const four6 = {
  ...four5,
  thinking: ["adaptive", "enabled", "disabled"],
  efforts: ["low", "medium", "high", "max"],
  prefill: false,
  maxOutputTokens: 128_000,
} as const;
const adaptive = {
  ...four6,
  thinking: ["adaptive", "disabled"],
  efforts: ["low", "medium", "high", "xhigh", "max"],
  sampling: "defaults",
  systemTurns: true,
} as const;
const always = {
  ...adaptive,
  thinking: ["adaptive"],
  thinksByDefault: true,
  forcedTools: false,
} as const;

/** The model generations and the parameters that each accepts. */
const generations: readonly AnthropicTraits[] = [
  { ...budgeted, ids: /^claude-3-(opus|sonnet|haiku)/, thinking: [], maxOutputTokens: 4_096 },
  { ...budgeted, ids: /^claude-3-5/, thinking: [], maxOutputTokens: 8_192 },
  { ...budgeted, ids: /^claude-opus-4(-0|-1|-2025)/, maxOutputTokens: 32_000 },
  { ...budgeted, ids: /^claude-(3-7|sonnet-4-0|sonnet-4-2025)/ },
  { ...four5, ids: /^claude-opus-4-5/, efforts: ["low", "medium", "high"] },
  { ...four5, ids: /^claude-(sonnet|haiku)-4-5/ },
  { ...four6, ids: /^claude-(opus|sonnet)-4-6/ },
  { ...adaptive, ids: /^claude-\w+-4-7/, systemTurns: false },
  { ...adaptive, ids: /^claude-\w+-4-8/ },
  {
    ...always,
    ids: /^claude-sonnet-5-5/,
    thinking: ["adaptive", "between_tools"],
    leastThinkingUpTo: "high",
  },
  { ...always, ids: /^claude-(fable|mythos|opus-5-5)/ },
  {
    ...adaptive,
    ids: /^claude-(opus-5|haiku-5-5)/,
    thinksByDefault: true,
    leastThinkingUpTo: "high",
  },
  { ...adaptive, ids: /./, thinksByDefault: true },
];

export function traitsOf({ name }: Model): AnthropicTraits {
  const found = generations.find(({ ids }) => ids.test(name));
  if (!found) throw new Error("the last generation fits every id");
  return found;
}

const claude = (name: string, contextLength: number): Model => ({
  name,
  contextLength,
  capabilities: ["completion", "tools", "vision", "thinking"],
});

export const anthropicModels: readonly Model[] = [
  claude("claude-opus-4-1", 200_000),
  claude("claude-haiku-4-5", 200_000),
  claude("claude-sonnet-4-5", 200_000),
  claude("claude-opus-4-5", 200_000),
  claude("claude-opus-4-6", 1_000_000),
  claude("claude-opus-4-8", 1_000_000),
  claude("claude-sonnet-5", 1_000_000),
  claude("claude-opus-5", 1_000_000),
  claude("claude-sonnet-5-5", 1_000_000),
  claude("claude-opus-5-5", 1_000_000),
];
