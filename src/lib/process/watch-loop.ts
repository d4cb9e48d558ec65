const LOOK_EVERY_MS = 100;

/**
 * Reports about ten times a second how long this process's own work delays the event loop. The delay is how late a
 * timer is, plus how long ready work delays the next turn. Time that other processes used the CPU is subtracted,
 * because doing less here would not save it.
 *
 * @param onLook receives milliseconds.
 * @returns a function that ends the watch.
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
