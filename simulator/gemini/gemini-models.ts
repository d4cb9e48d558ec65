import type { Model } from "../models.ts";

export interface GeminiTraits {
  /** The model ids of this generation; the first match is used. */
  readonly ids: RegExp;
  readonly thinks: boolean;
  /** The accepted budgets in addition to -1; undefined when the model has no budgets. */
  readonly budget:
    | { readonly from: number; readonly to: number; readonly mayBeOff: boolean }
    | undefined;
  readonly levels: readonly string[];
  /** A call must be sent back with its signature. */
  readonly needsSignature: boolean;
  /** JSON answers and functions may be combined. */
  readonly jsonWithTools: boolean;
  readonly maxOutputTokens: number;
}

const third = {
  thinks: true,
  budget: { from: 128, to: 32_768, mayBeOff: false },
  levels: ["MINIMAL", "LOW", "MEDIUM", "HIGH"],
  needsSignature: true,
  jsonWithTools: true,
  maxOutputTokens: 65_536,
} as const;
const second5 = { ...third, levels: [], needsSignature: false, jsonWithTools: false } as const;

/** The model generations and the parameters that each accepts. */
const generations: readonly GeminiTraits[] = [
  {
    ...second5,
    ids: /^gemini-(1|2\.0)/,
    thinks: false,
    budget: undefined,
    maxOutputTokens: 8_192,
  },
  { ...second5, ids: /^gemini-2\.5-pro/ },
  {
    ...second5,
    ids: /^gemini-2\.5-flash-lite/,
    budget: { from: 512, to: 24_576, mayBeOff: true },
  },
  { ...second5, ids: /^gemini-2\.5/, budget: { from: 1, to: 24_576, mayBeOff: true } },
  { ...third, ids: /^gemini-3-pro/, levels: ["LOW", "HIGH"] },
  { ...third, ids: /^gemini-3-flash/ },
  { ...third, ids: /./, levels: ["LOW", "MEDIUM", "HIGH"] },
];

export function traitsOf({ name }: Model): GeminiTraits {
  const found = generations.find(({ ids }) => ids.test(name));
  if (!found) throw new Error("the last generation fits every id");
  return found;
}

const gemini = (name: string, thinks = true): Model => ({
  name,
  contextLength: 1_048_576,
  capabilities: ["completion", "tools", "vision", ...(thinks ? (["thinking"] as const) : [])],
});

export const geminiModels: readonly Model[] = [
  gemini("gemini-2.0-flash", false),
  gemini("gemini-2.5-flash"),
  gemini("gemini-2.5-pro"),
  gemini("gemini-3-flash"),
  gemini("gemini-3-pro"),
  gemini("gemini-3.5-pro"),
];
