const SECOND_MS = 1_000;
const LONGEST_WISH_MS = 86_400_000;
const JITTER = 0.2;

export interface RetryPauseOptions {
  /** The sink's schedule: from one failed try to the next. One try more than there are pauses is the last. */
  readonly pausesMs: readonly number[];
  /** Tries that have failed. */
  readonly attempts: number;
  /** OUTBOX_BACKOFF_SCALE. */
  readonly scale: number;
  /** What the receiver asked to wait: no try before, up to a day. */
  readonly retryAfterSeconds?: number | undefined;
  /** 0 up to 1. */
  readonly random: number;
}

/** Milliseconds to the next try; undefined when there is to be none. */
export function retryPauseMs(options: RetryPauseOptions): number | undefined {
  const { pausesMs, attempts, scale, retryAfterSeconds = 0, random } = options;
  const pauseMs = pausesMs[attempts - 1];
  if (pauseMs === undefined) return undefined;
  const jitteredMs = pauseMs * scale * (1 + JITTER * (2 * random - 1));
  return Math.max(jitteredMs, Math.min(retryAfterSeconds * SECOND_MS, LONGEST_WISH_MS));
}
