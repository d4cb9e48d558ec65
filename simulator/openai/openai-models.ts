import type { Model } from "../models.ts";

export interface OpenAiTraits {
  /** The model ids of this generation; the first match is used. */
  readonly ids: RegExp;
  /** Empty when the model does not reason. */
  readonly efforts: readonly string[];
  readonly defaultEffort: string;
  /** When temperature, top_p and log probabilities are accepted. */
  readonly sampling: "always" | "never" | "without-effort";
  readonly endpoints: "both" | "responses";
  readonly stop: boolean;
  /** Function tools are refused in chat completions while the model reasons. */
  readonly toolsWithoutEffortOnly: boolean;
  readonly maxOutputTokens: number;
}

const plain = {
  efforts: [],
  defaultEffort: "none",
  sampling: "always",
  endpoints: "both",
  stop: true,
  toolsWithoutEffortOnly: false,
  maxOutputTokens: 32_768,
} as const;
const reasoning = {
  ...plain,
  efforts: ["low", "medium", "high"],
  defaultEffort: "medium",
  sampling: "never",
  stop: false,
  maxOutputTokens: 128_000,
} as const;
const switchable = { ...reasoning, defaultEffort: "none", sampling: "without-effort" } as const;
const wideEfforts = ["none", "low", "medium", "high", "xhigh"] as const;

/** The model generations and the parameters that each accepts. */
const generations: readonly OpenAiTraits[] = [
  {
    ...reasoning,
    ids: /-(pro|codex)(-|$)/,
    efforts: ["low", "medium", "high", "xhigh"],
    endpoints: "responses",
  },
  { ...plain, ids: /^gpt-4o|^gpt-3\.5/, maxOutputTokens: 16_384 },
  { ...plain, ids: /^gpt-4\.1/ },
  { ...plain, ids: /^gpt-5(\.\d+)?-chat/, maxOutputTokens: 16_384 },
  { ...reasoning, ids: /^o1/, stop: true, maxOutputTokens: 100_000 },
  { ...reasoning, ids: /^o[34]/, maxOutputTokens: 100_000 },
  { ...switchable, ids: /^gpt-5\.1/, efforts: ["none", "low", "medium", "high"] },
  { ...switchable, ids: /^gpt-5\.[2-5]/, efforts: wideEfforts },
  {
    ...switchable,
    ids: /^gpt-5\.6/,
    efforts: [...wideEfforts, "max"],
    toolsWithoutEffortOnly: true,
  },
  { ...reasoning, ids: /^gpt-5/, efforts: ["minimal", "low", "medium", "high"] },
  { ...reasoning, ids: /./, efforts: ["low", "medium", "high", "xhigh", "max"] },
];

export function traitsOf({ name }: Model): OpenAiTraits {
  const found = generations.find(({ ids }) => ids.test(name));
  if (!found) throw new Error("the last generation fits every id");
  return found;
}

const chat = (name: string, contextLength: number, thinks: boolean): Model => ({
  name,
  contextLength,
  capabilities: ["completion", "tools", "vision", ...(thinks ? (["thinking"] as const) : [])],
});

export const openAiModels: readonly Model[] = [
  chat("gpt-4o", 128_000, false),
  chat("gpt-4.1", 1_047_576, false),
  chat("o3", 200_000, true),
  chat("gpt-5", 400_000, true),
  chat("gpt-5-mini", 400_000, true),
  chat("gpt-5.1", 400_000, true),
  chat("gpt-5.2", 400_000, true),
  chat("gpt-5.6", 400_000, true),
  chat("gpt-6", 400_000, true),
  chat("gpt-5-pro", 400_000, true),
  chat("gpt-5.1-codex", 400_000, true),
];
