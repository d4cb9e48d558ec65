import type { Usage } from "../../core/chat/usage.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { readCount } from "../shared/answer-json.ts";

const NAMES = [
  "promptTokenCount",
  "toolUsePromptTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "cachedContentTokenCount",
] as const;

/** Collects the usage of one answer. Counts are cumulative: a later one replaces an earlier one of the same name. */
export class UsageReader {
  readonly #counts: { [Name in (typeof NAMES)[number]]?: number } = {};

  /** Reads a chunk's `usageMetadata`, which may have any of the counts. */
  add(metadata: unknown): void {
    if (!isJsonObject(metadata)) return;
    for (const name of NAMES) {
      const count = readCount(metadata[name]);
      if (count !== undefined) this.#counts[name] = count;
    }
  }

  /** Undefined when the vendor reported neither input nor output tokens. */
  get usage(): Usage | undefined {
    const { promptTokenCount: prompt, candidatesTokenCount: candidates } = this.#counts;
    const { thoughtsTokenCount: thoughts, toolUsePromptTokenCount = 0 } = this.#counts;
    if (prompt === undefined && candidates === undefined && thoughts === undefined) {
      return undefined;
    }
    return {
      inputTokens: (prompt ?? 0) + toolUsePromptTokenCount,
      outputTokens: (candidates ?? 0) + (thoughts ?? 0),
      cachedTokens: this.#counts.cachedContentTokenCount,
      reasoningTokens: thoughts,
    };
  }
}
