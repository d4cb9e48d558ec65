/** The process that reads data for others, as the server sees it. */
export interface DataProcess {
  /**
   * POSTs a JSON value to the process over its socket, and starts the process when it does not run. Rejects with
   * `storage_unavailable` when it cannot be started, and with the signal's reason. Aborting, or leaving the body unread
   * and returning its iterator, ends the work there.
   */
  readonly request: (
    path: "/read" | "/copy",
    body: unknown,
    signal: AbortSignal,
  ) => Promise<ProcessAnswer>;
  /** Ends the open connections of these principals, or of all, within a second. */
  readonly end: (principalIds: readonly string[] | "all", reason: string) => void;
  /** True while the process runs. */
  readonly isRunning: () => boolean;
  /** Called whenever a process has started: it holds nothing of what the last one held. */
  readonly onStarted: (listener: () => void) => void;
}

/**
 * The last byte of an answer of `/read` that is cut; text never has it, because UTF-8 does not. A connection that
 * merely ended early would lose the bytes that still wait in it, among them the line that says why.
 */
export const CUT_MARK = 0xff;

export interface ProcessAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects at the end of an answer that is cut, or whose process has ended. */
  readonly body: AsyncIterable<Uint8Array>;
}
