/**
 * The state a format keeps of one caller's calls, for later calls that refer to them. Entries may be evicted at any
 * time.
 */
export interface CallerMemory {
  /** Returns what was kept for that call. */
  readonly find: (requestId: string) => readonly string[] | undefined;
  /**
   * Returns so many of the first texts, which become part of the call. Throws `request_too_large` when one call requests
   * more than a body may hold.
   */
  readonly recall: (requestId: string, count: number) => readonly string[] | undefined;
  readonly keep: (requestId: string, texts: readonly string[]) => void;
  /** Returns true when something was kept. */
  readonly forget: (requestId: string) => boolean;
}
