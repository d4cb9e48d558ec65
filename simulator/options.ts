import type { Model } from "./models.ts";

/** The engine whose formats are served; `both` serves vLLM and Ollama on one port. */
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
  /** 0 selects a free port. */
  readonly port: number;
  readonly engine: EngineName;
  readonly seed: string;
  /** Default: the engine's own models. */
  readonly models: readonly Model[];
  /** The delay before the first byte of an answer. */
  readonly latencyMs: number;
  /** 0 means no delay. */
  readonly tokensPerSecond: number;
  /**
   * Behaves like engines of 2025. vLLM: `reasoning_content`, only the efforts low, medium and high, and the older
   * overflow message. Ollama: no capabilities in `/api/tags`, and no ids on tool calls.
   */
  readonly legacy: boolean;
  /** vLLM's `--reasoning-parser`; without it, reasoning is in the content between `<think>` tags. */
  readonly reasoningParser: boolean;
  /** vLLM's `--enable-prompt-tokens-details`: the usage reports how much of the prompt was cached. */
  readonly promptTokensDetails: boolean;
  /**
   * The only accepted key: for vLLM on `/v1`, as its `--api-key`; for a cloud on every path. When unset, a cloud
   * accepts any key.
   */
  readonly apiKey: string | undefined;
  /** Reports 100,000 plus the request's number as input tokens, so that the usage identifies each answer. */
  readonly uniqueUsage: boolean;
}
