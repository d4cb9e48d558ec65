/** While clients wait for answers, runs have one call for so many of theirs, and never less than the least. */
const CLIENTS_PER_CALL = 4;
const LEAST_CALLS = 2;
/** While calls of runs wait: the pause between two looks whether clients still do. */
const LOOK_MS = 20;

/** Begins a call: resolves with the function that ends it, or rejects with the signal's reason. */
export type EnterCall = (signal: AbortSignal) => (() => void) | Promise<() => void>;

interface Waiting {
  readonly start: () => void;
}

/**
 * Lets calls of runs yield to those of clients, in the order in which they came. While no client's call is open, there
 * is no limit. Else a share of them runs, which grows with the clients: under a permanent load every run goes on. How
 * long one waits is bounded by the time of its run.
 *
 * @param clients returns the number of open calls of clients.
 */
export function yieldToClients(clients: () => number): EnterCall {
  const waiting = new Set<Waiting>();
  let running = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  const mayStart = () => {
    const open = clients();
    return open === 0 || running < Math.max(LEAST_CALLS, Math.floor(open / CLIENTS_PER_CALL));
  };
  const leave = () => {
    running -= 1;
    startWaiting();
  };
  const startWaiting = () => {
    for (const next of waiting) {
      if (!mayStart()) break;
      waiting.delete(next);
      running += 1;
      next.start();
    }
    if (waiting.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return (signal) => {
    signal.throwIfAborted();
    if (waiting.size === 0 && mayStart()) {
      running += 1;
      return leave;
    }
    return new Promise((resolve, reject) => {
      const next = {
        start() {
          signal.removeEventListener("abort", giveUp);
          resolve(leave);
        },
      };
      const giveUp = () => {
        waiting.delete(next);
        reject(signal.reason);
        startWaiting();
      };
      signal.addEventListener("abort", giveUp, { once: true });
      waiting.add(next);
      timer ??= setInterval(startWaiting, LOOK_MS);
    });
  };
}
