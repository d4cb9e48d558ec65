/** A watchdog for long work that must make progress. */
export interface StallLimit {
  /** Reports progress. */
  readonly tick: () => void;
  /** Reports progress, and lets each step from now on take this many milliseconds. */
  readonly allow: (limitMs: number) => void;
  /** Settles as the work does, or rejects after too long without progress; the work itself continues. */
  readonly hold: <Result>(work: Promise<Result>) => Promise<Result>;
}

/** Creates a watchdog for one piece of work. `stalled` creates the error after `limitMs` without progress. */
export function limitStall(limitMs: number, stalled: () => Error): StallLimit {
  let allowedMs = limitMs;
  let timer: NodeJS.Timeout | undefined;
  let giveUp: (() => void) | undefined;
  const watch = (): void => {
    clearTimeout(timer);
    if (giveUp !== undefined) timer = setTimeout(giveUp, allowedMs);
  };
  return {
    tick: () => void timer?.refresh(),
    allow(nextMs) {
      allowedMs = nextMs;
      watch();
    },
    async hold(work) {
      const tooLong = new Promise<never>((_, reject) => {
        giveUp = () => reject(stalled());
      });
      watch();
      try {
        return await Promise.race([work, tooLong]);
      } finally {
        giveUp = undefined;
        clearTimeout(timer);
        timer = undefined;
      }
    },
  };
}
