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
