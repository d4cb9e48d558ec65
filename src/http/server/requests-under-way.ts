/** Counts the requests in progress, so that a stopping server can wait for them. */
export interface RequestsUnderWay {
  readonly begin: () => void;
  readonly end: () => void;
  readonly count: () => number;
  /** Resolves as soon as there are no requests. */
  readonly none: () => Promise<void>;
}

export function createRequestsUnderWay(): RequestsUnderWay {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin() {
      count += 1;
    },
    end() {
      count -= 1;
      if (count > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    count: () => count,
    none: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
