export interface WorkLimits {
  readonly running: number;
  /** The number of further jobs that may wait. */
  readonly waiting: number;
  /** Creates the error for a job beyond both limits. */
  readonly refusal: () => Error;
}

/** Creates a gate that runs a limited number of jobs at once, in order of arrival, and lets a limited number wait. */
export function limitWork({
  running,
  waiting,
  refusal,
}: WorkLimits): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let open = 0;
  const queue: (() => void)[] = [];
  const end = () => {
    const next = queue.shift();
    if (next === undefined) open -= 1;
    else next();
  };
  return async (work) => {
    if (open < running) open += 1;
    else if (queue.length < waiting) await new Promise<void>((resolve) => queue.push(resolve));
    else throw refusal();
    try {
      return await work();
    } finally {
      end();
    }
  };
}

/** Runs one job at a time in order of arrival. Each waits until all earlier ones have settled. */
export function takeTurns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/**
 * Wraps a job so that only one run is active at a time. Each caller gets a run that begins after the call. All callers
 * during a run share the next one, so any number of calls costs two runs.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const again = (): Promise<void> => {
    next = undefined;
    return run();
  };
  const run = (): Promise<void> => {
    if (current !== undefined) {
      next ??= current.then(again, again);
      return next;
    }
    current = work().finally(() => {
      current = undefined;
    });
    return current;
  };
  return run;
}

/**
 * Shares a question among all who ask it: while it is being answered, and for some time afterwards, they get the same
 * answer. A failure is not kept.
 *
 * @param freshMs how long after its end an answer is shared.
 */
export function shareRecent<Value>(
  ask: () => Promise<Value>,
  freshMs: number,
  now: () => number = () => performance.now(),
): () => Promise<Value> {
  let recent: Promise<Value> | undefined;
  let freshUntil = 0;
  return () => {
    if (recent !== undefined && now() < freshUntil) return recent;
    freshUntil = Number.POSITIVE_INFINITY;
    recent = ask();
    recent.then(
      () => {
        freshUntil = now() + freshMs;
      },
      () => {
        recent = undefined;
      },
    );
    return recent;
  };
}
