/** Where a key stands at one moment, whoever counts. A call under way counts in `requests` and in the window. */
export interface KeyUse {
  /** The moment, in Unix milliseconds. */
  readonly now: number;
  /** Calls admitted in the 60 seconds before it. */
  readonly windowCalls: number;
  /** Until one more call is admitted under the key's limit, in milliseconds; 0 now. */
  readonly windowOpensInMs: number;
  /** Until the window is empty when nothing more is called, in milliseconds; 0 now. */
  readonly windowEmptiesInMs: number;
  /** Calls admitted over the key's life. */
  readonly requests: number;
  /** Settled over the key's life. */
  readonly tokens: number;
  /** Held by calls under way. */
  readonly reservedTokens: number;
  /** When the month ends that is spoken of, in Unix milliseconds. */
  readonly monthEndsAt: number;
  /** Settled in that month. */
  readonly monthTokens: number;
  /** Held by calls of that month. */
  readonly monthReservedTokens: number;
}
