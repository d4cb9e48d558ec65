import type { Usage } from "../../../core/chat/usage.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { readCount } from "../../shared/answer-json.ts";

/** Collects the usage of one answer: later figures replace earlier ones of the same name. */
export class UsageReader {
  #figures: JsonObject = {};

  add(usage: unknown): void {
    if (!isJsonObject(usage)) return;
    const told = Object.entries(usage).filter(([, value]) => value != null);
    this.#figures = { ...this.#figures, ...Object.fromEntries(told) };
  }

  /** Tokens of the prompt, including those of the cache, which the vendor counts separately. */
  get inputTokens(): number | undefined {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = this.#figures;
    const uncached = readCount(input_tokens);
    if (uncached === undefined) return undefined;
    return (
      uncached +
      (readCount(cache_read_input_tokens) ?? 0) +
      (readCount(cache_creation_input_tokens) ?? 0)
    );
  }

  /** Undefined when the vendor reported neither input nor output tokens. */
  get usage(): Usage | undefined {
    const { inputTokens } = this;
    const {
      output_tokens,
      cache_read_input_tokens,
      cache_creation_input_tokens,
      output_tokens_details: details,
    } = this.#figures;
    const outputTokens = readCount(output_tokens);
    if (inputTokens === undefined && outputTokens === undefined) return undefined;
    const { thinking_tokens } = isJsonObject(details) ? details : {};
    return {
      inputTokens: inputTokens ?? 0,
      outputTokens: outputTokens ?? 0,
      cachedTokens: readCount(cache_read_input_tokens),
      cacheWriteTokens: readCount(cache_creation_input_tokens),
      reasoningTokens: readCount(thinking_tokens),
    };
  }
}
