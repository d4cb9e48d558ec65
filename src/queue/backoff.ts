const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS;
const JITTER = 0.2;

/** Pauses between the failed posts of a webhook: ten tries in a little more than three days. */
export const WEBHOOK_PAUSES_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/** Pauses for an event inside the gateway: nine tries in less than four hours. */
export const INTERNAL_PAUSES_MS = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
] as const;

export interface RetryPauseOptions {
  /** The topic's schedule of pauses between failed tries. There is one try more than there are pauses. */
  readonly pausesMs: readonly number[];
  /** Number of failed tries. */
  readonly attempts: number;
  /** OUTBOX_BACKOFF_SCALE. */
  readonly scale: number;
  /** The wait that the receiver asked for, honoured up to a day. */
  readonly retryAfterSeconds?: number | undefined;
  /** 0 up to 1. */
  readonly random: number;
}

/** Returns the milliseconds until the next try; undefined after the last one. */
export function retryPauseMs(options: RetryPauseOptions): number | undefined {
  const { pausesMs, attempts, scale, retryAfterSeconds = 0, random } = options;
  const pauseMs = pausesMs[attempts - 1];
  if (pauseMs === undefined) return undefined;
  const jitteredMs = pauseMs * scale * (1 + JITTER * (2 * random - 1));
  return Math.max(jitteredMs, Math.min(retryAfterSeconds * SECOND_MS, RETRY_AFTER_MAX_MS));
}
