/**
 * Does a work again and again, with a pause between the end of one and the start of the next, until it is stopped.
 *
 * @param firstMs longest pause before the first one.
 */
export function repeat(
  pauseMs: number,
  work: () => Promise<void>,
  firstMs = pauseMs,
): { readonly stop: () => void } {
  let isStopped = false;
  const schedule = (afterMs: number) => setTimeout(() => void turn(), afterMs).unref();
  const turn = async () => {
    await work();
    if (!isStopped) timer = schedule(pauseMs);
  };
  let timer = schedule(Math.min(firstMs, pauseMs));
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
