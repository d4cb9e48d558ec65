/** A long work that has to get on. */
export interface StallLimit {
  /** It has got on. */
  readonly tick: () => void;
  /** Settles as the work does, or rejects when there was no tick for too long; the work itself goes on. */
  readonly hold: <Result>(work: Promise<Result>) => Promise<Result>;
}

/** Watches over one work. `stalled` makes the error for one that stands still for `limitMs`. */
export function limitStall(limitMs: number, stalled: () => Error): StallLimit {
  let timer: NodeJS.Timeout | undefined;
  return {
    tick: () => void timer?.refresh(),
    async hold(work) {
      const tooLong = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(stalled()), limitMs);
      });
      try {
        return await Promise.race([work, tooLong]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
