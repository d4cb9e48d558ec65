/** Looks at the time now and then. */
export interface TimeWatcher {
  /** @param now is `performance.now()`. */
  readonly look: (now: number) => void;
}

const TICK_MS = 50;

const watchers = new Set<TimeWatcher>();
let timer: ReturnType<typeof setInterval> | undefined;

/**
 * Lets a watcher look about every 50 ms until `unwatchTime`. It is for limits that are rarely reached: one timer serves
 * them all. Arming and clearing a timer for each call would cost microseconds per call.
 */
export function watchTimeBy(watcher: TimeWatcher): void {
  watchers.add(watcher);
  timer ??= setInterval(tick, TICK_MS).unref();
}

export function unwatchTime(watcher: TimeWatcher): void {
  watchers.delete(watcher);
}

/** Does the same as `watchTimeBy` for a function, until the returned function is called. */
export function watchTime(look: TimeWatcher["look"]): () => void {
  const watcher = { look };
  watchTimeBy(watcher);
  return () => unwatchTime(watcher);
}

function tick(): void {
  const now = performance.now();
  for (const watcher of watchers) watcher.look(now);
  if (watchers.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}
