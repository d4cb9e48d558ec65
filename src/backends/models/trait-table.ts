import type { ModelTraits } from "../backend.ts";

/** The cloud backends, by name. */
export type Cloud = "openai" | "anthropic" | "google" | "compatible";

interface CloudTraits {
  /** The newest generation. A model that matches no pattern is treated as one of it. */
  readonly newest: ModelTraits;
  /** The first matching pattern counts. Traits that it omits are those of the newest generation. */
  readonly known: readonly (readonly [name: RegExp, differs: Partial<ModelTraits>])[];
}

const ABLE = { tools: true, vision: true, documents: true, audio: false, thinking: true } as const;
const NO_THINKING = { thinking: false, efforts: [] } as const;
const TEXT_ONLY = { vision: false, documents: false } as const;

/** The traits of the clouds' models by name. `MODELS_FILE` overrides them. */
const TABLE: Readonly<Record<Cloud, CloudTraits>> = {
  openai: {
    newest: {
      ...ABLE,
      contextLength: undefined,
      maxOutputTokens: 128_000,
      efforts: ["low", "medium", "high", "xhigh", "max"],
      api: "chat",
    },
    known: [
      [/^gpt-3\.5/, { ...NO_THINKING, ...TEXT_ONLY, ...limits(16_385, 4_096) }],
      [/^gpt-4(-0\d{3})?$/, { ...NO_THINKING, ...TEXT_ONLY, ...limits(8_192, 8_192) }],
      [/^gpt-4-(turbo|\d{4})/, { ...NO_THINKING, ...limits(128_000, 4_096) }],
      [/^gpt-4\.1/, { ...NO_THINKING, ...limits(1_047_576, 32_768) }],
      [/audio/, { ...NO_THINKING, vision: false, audio: true, ...limits(128_000, 16_384) }],
      [/^(chatgpt-4o|gpt-4|gpt-\d.*-chat)/, { ...NO_THINKING, ...limits(128_000, 16_384) }],
      [/^gpt-5-pro/, { api: "responses", efforts: ["high"], ...limits(400_000, 272_000) }],
      [
        /^gpt-5.*-(pro|codex)/,
        { api: "responses", efforts: ["low", "medium", "high"], ...limits(400_000, 128_000) },
      ],
      [
        /^o\d.*-pro/,
        { api: "responses", efforts: ["low", "medium", "high"], ...limits(200_000, 100_000) },
      ],
      [/^gpt.*-(pro|codex)/, { api: "responses" }],
      [
        /^o(1|3)-mini/,
        { efforts: ["low", "medium", "high"], ...TEXT_ONLY, ...limits(200_000, 100_000) },
      ],
      [/^o\d/, { efforts: ["low", "medium", "high"], ...limits(200_000, 100_000) }],
      [
        /^gpt-5(?!\.)/,
        { efforts: ["minimal", "low", "medium", "high"], ...limits(400_000, 128_000) },
      ],
      [/^gpt-5\.1/, { efforts: ["none", "low", "medium", "high"], ...limits(400_000, 128_000) }],
      [
        /^gpt-5\.[2-5]/,
        { efforts: ["none", "low", "medium", "high", "xhigh"], ...limits(400_000, 128_000) },
      ],
      [/^gpt-5\.\d/, { efforts: ["none", "low", "medium", "high", "xhigh", "max"] }],
    ],
  },
  anthropic: {
    newest: {
      ...ABLE,
      ...limits(1_000_000, 128_000),
      generation: "newer",
      efforts: ["low", "medium", "high", "xhigh", "max"],
      sampling: false,
      midSystem: true,
    },
    known: [
      [/claude-(instant|2|3-(opus|sonnet|haiku))/, { ...older(4_096), ...NO_THINKING }],
      [/claude-3[-.]5/, { ...older(8_192), ...NO_THINKING }],
      [/claude-3[-.]7/, older(64_000)],
      [/-4[-.]5(?!\d)/, older(64_000)],
      [
        /-4[-.]6(?!\d)/,
        { efforts: ["none", "low", "medium", "high", "max"], sampling: true, midSystem: false },
      ],
      [
        /-4[-.]7(?!\d)/,
        { efforts: ["none", "low", "medium", "high", "xhigh", "max"], midSystem: false },
      ],
      [
        /-4[-.]8(?!\d)|(opus|sonnet)-5(?![-.]\d(?!\d))|haiku-5[-.]5/,
        { efforts: ["none", "low", "medium", "high", "xhigh", "max"] },
      ],
      [/sonnet-4/, older(64_000)],
      [/opus-4/, older(32_000)],
    ],
  },
  google: {
    newest: {
      ...ABLE,
      audio: true,
      ...limits(1_048_576, 65_536),
      generation: "newer",
      efforts: ["low", "medium", "high"],
    },
    known: [
      [/gemini-(1|2\.0)/, { ...NO_THINKING, maxOutputTokens: 8_192 }],
      [/gemma/, { ...NO_THINKING, audio: false, ...limits(131_072, 8_192) }],
      [/gemini-2\.5-pro/, { generation: "older", efforts: ["high"] }],
      [/gemini-2\.5/, { generation: "older", efforts: ["none", "high"] }],
      [/gemini-3(\.0)?-flash/, { efforts: ["minimal", "low", "medium", "high"] }],
    ],
  },
  // Its models can be of any vendor; it refuses requests that a model cannot handle.
  compatible: { newest: { ...ABLE, audio: true, contextLength: undefined }, known: [] },
};

function limits(contextLength: number, maxOutputTokens: number) {
  return { contextLength, maxOutputTokens };
}

/** Returns the traits of Anthropic's models that think by a budget of tokens. */
function older(maxOutputTokens: number): Partial<ModelTraits> {
  return {
    ...limits(200_000, maxOutputTokens),
    generation: "older",
    efforts: [],
    sampling: true,
    midSystem: false,
  };
}

/** The name of a fine-tuned model of OpenAI's, which has that of the tuned one: `ft:gpt-4o-2024-08-06:org::id`. */
const TUNED = /^ft:([^:]+).*$/;

/** Returns the traits of a cloud's model, judged by its name. */
export function traitsOf(cloud: Cloud, name: string): ModelTraits {
  const { newest, known } = TABLE[cloud];
  const base = name.replace(TUNED, "$1");
  const differs = known.find(([pattern]) => pattern.test(base))?.[1];
  return { ...newest, ...differs };
}
