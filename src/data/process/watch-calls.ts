const LOOK_MS = 250;
/** Short calls are seldom open at a look: for so long after one was seen there are others. */
const SEEN_MS = 1_000;

export interface CallWatch {
  /** The number of open calls of clients. */
  readonly clients: () => number;
  /** Takes how late this process is at each look, and null once when clients have stopped calling. */
  readonly tell: (lateMs: number | null) => void;
}

/**
 * Tells four times a second how late this process is while clients call it. It is as late as its own work and that
 * of others on the machine make it. Returns a function that ends the watch.
 */
export function watchCalls({ clients, tell }: CallWatch): () => void {
  let seenAt = Number.NEGATIVE_INFINITY;
  let isTold = false;
  let dueAt = performance.now() + LOOK_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    const lateMs = Math.max(0, now - dueAt);
    dueAt = now + LOOK_MS;
    if (clients() > 0) seenAt = now;
    const isCalled = now - seenAt < SEEN_MS;
    if (isCalled) tell(lateMs);
    else if (isTold) tell(null);
    isTold = isCalled;
  }, LOOK_MS).unref();
  return () => clearInterval(timer);
}
