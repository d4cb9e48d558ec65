import type { LimitedCall } from "./limits.ts";

/**
 * The fewest tokens with which a call makes sense: its prompt and, where it asks for an answer, one token of it.
 * At least 1: a key whose tokens are used up, or whose limit is 0, makes no calls of any kind.
 */
export function tokensNeeded({ inputTokens, outputTokens }: LimitedCall): number {
  return Math.max(1, inputTokens + (outputTokens > 0 ? 1 : 0));
}
