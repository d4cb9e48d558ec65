export interface WorkLimits {
  readonly running: number;
  /** Further works that wait for their turn. */
  readonly waiting: number;
  /** What the next one is refused with. */
  readonly refusal: () => Error;
}

/** Makes a gate that runs a few works at once, in the order they come, and lets a limited number wait. */
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
