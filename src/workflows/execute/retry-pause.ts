import { setTimeout as sleep } from "node:timers/promises";
import type { StepFailure } from "../runs/run.ts";

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
const LONGEST_RETRY_AFTER_MS = 10 * 60_000;
const JITTER = 0.2;

/** What waits between two tries. Tests pass their own, so that nothing waits. */
export interface Pauses {
  /** Rejects with the signal's reason. */
  readonly pause: (durationMs: number, signal: AbortSignal) => Promise<void>;
  /** 0 up to 1. */
  readonly random: () => number;
}

export const realPauses: Pauses = {
  async pause(durationMs, signal) {
    await sleep(durationMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  },
  random: Math.random,
};

/**
 * Returns the milliseconds before the next try: 2 s, doubled to 60 s, ± 20 %, or what the other side asked for, up to
 * 10 minutes.
 *
 * @param tries failed ones, from 1.
 */
export function retryPauseMs(failure: StepFailure, tries: number, random: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS);
  const jitteredMs = pauseMs * (1 + JITTER * (2 * random - 1));
  const askedMs = (failure.retryAfterSeconds ?? 0) * 1_000;
  return Math.max(jitteredMs, Math.min(askedMs, LONGEST_RETRY_AFTER_MS));
}
