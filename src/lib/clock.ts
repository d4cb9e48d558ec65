/** Time is injected, so that tests can set it. Always UTC. */
export interface Clock {
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const systemClock: Clock = { now: () => Date.now() };
