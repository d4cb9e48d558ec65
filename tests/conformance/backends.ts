import type { SimulatorOptions } from "../../simulator/options.ts";

export type BackendName = "vllm" | "ollama" | "openai" | "anthropic" | "google" | "compatible";

/** One backend of the matrix: the models it answers with, and what the specification's tables say of it. */
export interface Backend {
  readonly name: BackendName;
  readonly engine: SimulatorOptions["engine"];
  /** A model with tools and pictures that does not think unless asked. */
  readonly model: string;
  /** A model that thinks when asked. */
  readonly thinker: string;
  /** Stop strings are applied (local engines) or ignored (clouds, unless forwarded). */
  readonly appliesStop: boolean;
  /** Table 4.3: vendor 1 ignores tools unless the key is a passthrough key. */
  readonly takesToolsOf: "every key" | "passthrough keys";
  /** `max_tokens` reaches the model (table 4.3: vendor 3 ignores it). */
  readonly appliesMaxTokens: boolean;
  /** The backend shows what the model thinks. */
  readonly showsReasoning: boolean;
  /** What the vendor tells of an answer. */
  readonly tells: {
    readonly cached: boolean;
    readonly reasoning: boolean;
    /** That an answer was refused or filtered. */
    readonly refusals: boolean;
  };
  /** What a vendor's own seal, given back to it, looks like in its body; undefined for one that seals nothing. */
  readonly seal: RegExp | undefined;
}

export const BACKENDS: readonly Backend[] = [
  {
    name: "vllm",
    engine: "vllm",
    model: "sim-chat",
    thinker: "sim-thinker",
    appliesStop: true,
    takesToolsOf: "every key",
    appliesMaxTokens: true,
    showsReasoning: true,
    tells: { cached: true, reasoning: true, refusals: true },
    seal: undefined,
  },
  {
    name: "ollama",
    engine: "ollama",
    model: "sim-chat:latest",
    thinker: "sim-thinker:latest",
    appliesStop: true,
    takesToolsOf: "every key",
    appliesMaxTokens: true,
    showsReasoning: true,
    tells: { cached: false, reasoning: false, refusals: false },
    seal: undefined,
  },
  {
    name: "openai",
    engine: "openai",
    model: "gpt-4.1",
    thinker: "gpt-5.1",
    appliesStop: false,
    takesToolsOf: "passthrough keys",
    appliesMaxTokens: true,
    showsReasoning: false,
    tells: { cached: true, reasoning: true, refusals: true },
    seal: undefined,
  },
  {
    name: "anthropic",
    engine: "anthropic",
    model: "claude-sonnet-4-5",
    thinker: "claude-opus-4-6",
    appliesStop: false,
    takesToolsOf: "every key",
    appliesMaxTokens: true,
    showsReasoning: true,
    tells: { cached: true, reasoning: true, refusals: true },
    seal: /"type":"thinking"[^}]*"signature":"[^"]+"/,
  },
  {
    name: "google",
    engine: "gemini",
    model: "gemini-2.5-flash",
    thinker: "gemini-3-pro",
    appliesStop: false,
    takesToolsOf: "every key",
    appliesMaxTokens: false,
    showsReasoning: true,
    tells: { cached: true, reasoning: true, refusals: true },
    seal: /"thoughtSignature":"(?!skip_)[^"]+"/,
  },
  {
    name: "compatible",
    engine: "compatible",
    model: "mistral-large",
    thinker: "magistral",
    appliesStop: false,
    takesToolsOf: "every key",
    appliesMaxTokens: true,
    showsReasoning: true,
    tells: { cached: true, reasoning: false, refusals: true },
    seal: undefined,
  },
];
