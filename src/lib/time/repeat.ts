/**
 * Runs a job repeatedly until it is stopped, with a pause between the end of one run and the start of the next.
 *
 * @param firstMs the longest pause before the first run.
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
