/** Called with `performance.now()`. */
type Look = (now: number) => void;

const TICK_MS = 50;

const looks = new Set<Look>();
let timer: ReturnType<typeof setInterval> | undefined;

/**
 * Calls `look` about every 50 ms until the returned function is called. It is for limits that are rarely reached: one
 * timer serves them all. Arming and clearing a timer for each call would cost microseconds per call.
 */
export function watchTime(look: Look): () => void {
  looks.add(look);
  timer ??= setInterval(tick, TICK_MS).unref();
  return () => looks.delete(look);
}

function tick(): void {
  const now = performance.now();
  for (const look of looks) look(now);
  if (looks.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}
