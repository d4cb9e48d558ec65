/** Tokens of one call. `inputTokens` includes cached and cache-written tokens, `outputTokens` reasoning tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  /** True when the gateway counted the tokens because the vendor did not. */
  readonly estimated?: boolean | undefined;
}
