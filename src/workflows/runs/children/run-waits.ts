/** Ends of runs on this replica, for whoever waits for one here. */
export interface RunWaits {
  /** Number of runs of this replica that wait for another run. */
  readonly count: () => number;
  /**
   * Resolves when `runId` ends on this replica, or after `limitMs`; counts as a wait until then. Rejects with the
   * signal's reason.
   */
  readonly until: (runId: string, limitMs: number, signal: AbortSignal) => Promise<void>;
  /** Counts a wait until the returned function is called. */
  readonly hold: () => () => void;
  readonly ended: (runId: string) => void;
}

export function createRunWaits(): RunWaits {
  const waiting = new Map<string, Set<() => void>>();
  let held = 0;
  return {
    count: () => held,
    hold() {
      held += 1;
      let isHeld = true;
      return () => {
        if (isHeld) held -= 1;
        isHeld = false;
      };
    },
    ended(runId) {
      for (const wake of waiting.get(runId) ?? []) wake();
    },
    until: (runId, limitMs, signal) =>
      new Promise((resolve, reject) => {
        const wakes = waiting.get(runId) ?? new Set();
        waiting.set(runId, wakes);
        const leave = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          wakes.delete(wake);
          if (wakes.size === 0) waiting.delete(runId);
        };
        const wake = () => {
          leave();
          resolve();
        };
        const abort = () => {
          leave();
          reject(signal.reason);
        };
        const timer = setTimeout(wake, limitMs);
        wakes.add(wake);
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
      }),
  };
}
