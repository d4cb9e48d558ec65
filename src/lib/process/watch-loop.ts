const LOOK_EVERY_MS = 100;

/**
 * Reports about ten times a second how long the event loop takes to come round by its own work: how late a timer is, and
 * how long whatever is ready then delays the next turn. Time in which other processes had the processor is taken off,
 * because this process would gain nothing if it did less.
 *
 * @param onLook gets milliseconds.
 * @returns ends the watch.
 */
export function watchLoop(onLook: (delayMs: number) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  let lookedAt = performance.now();
  let used = process.cpuUsage();
  const ownShare = (now: number) => {
    const { user, system } = process.cpuUsage(used);
    const share = (user + system) / 1_000 / (now - lookedAt);
    used = process.cpuUsage();
    lookedAt = now;
    return Math.min(1, share);
  };
  const plan = () => {
    const dueAt = performance.now() + LOOK_EVERY_MS;
    timer = setTimeout(() => {
      setImmediate(() => {
        if (isOver) return;
        const now = performance.now();
        onLook((now - dueAt) * ownShare(now));
        plan();
      });
    }, LOOK_EVERY_MS).unref();
  };
  plan();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
