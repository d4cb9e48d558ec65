/** Time and timers of the port. Tests set them. */
export interface PortClock {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Calls `run` after so many milliseconds, at most an hour, unless the returned function was called. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
}

/** Timers of the runtime end at 24.8 days, and a clock that is set must be noticed. */
const LONGEST_WAIT_MS = 3_600_000;

export const systemPortClock: PortClock = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Calls `run` at a time, however far it is, unless the returned function was called. */
export function runAt(clock: PortClock, time: number, run: () => void): () => void {
  let stop: () => void = () => undefined;
  const wait = (): void => {
    const left = time - clock.now();
    stop = clock.after(Math.min(Math.max(left, 0), LONGEST_WAIT_MS), left > 0 ? wait : run);
  };
  wait();
  return () => stop();
}
