import type { Model } from "./models.ts";

/** Whose formats are spoken; both: vLLM and Ollama on one port. */
export type EngineName =
  | "vllm"
  | "ollama"
  | "llama-cpp"
  | "both"
  | "openai"
  | "anthropic"
  | "gemini"
  | "compatible";

export interface SimulatorOptions {
  /** 0 takes a free port. */
  readonly port: number;
  readonly engine: EngineName;
  readonly seed: string;
  /** Default: those of the engine. */
  readonly models: readonly Model[];
  /** Before the first byte of an answer. */
  readonly latencyMs: number;
  /** 0: at once. */
  readonly tokensPerSecond: number;
  /**
   * Speaks as engines of 2025 did. vLLM: `reasoning_content`, only low, medium and high as effort, the older
   * overflow text. Ollama: no capabilities in `/api/tags`, no ids on tool calls.
   */
  readonly legacy: boolean;
  /** vLLM's `--reasoning-parser`; without it reasoning stands in the content between `<think>` tags. */
  readonly reasoningParser: boolean;
  /** vLLM's `--enable-prompt-tokens-details`: the usage tells how much of the prompt was cached. */
  readonly promptTokensDetails: boolean;
  /** The only key taken: on `/v1` for vLLM, as its `--api-key`; of a cloud everywhere. Without it a cloud takes any. */
  readonly apiKey: string | undefined;
  /** Tells 100,000 + the request's number as input tokens, so that each answer is known by its figures. */
  readonly uniqueUsage: boolean;
}
