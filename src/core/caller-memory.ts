/** What a format keeps of one caller's calls, for later calls that refer to them. It may be forgotten at any time. */
export interface CallerMemory {
  /** What was kept of that call. Throws `request_too_large` when one call asks for more than a body may bring. */
  readonly find: (requestId: string) => readonly string[] | undefined;
  readonly keep: (requestId: string, texts: readonly string[]) => void;
  readonly forget: (requestId: string) => void;
}
