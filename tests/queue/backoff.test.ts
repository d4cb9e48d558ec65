import { describe, expect, test } from "vitest";
import {
  type RetryPauseOptions,
  retryPauseMs,
  WEBHOOK_PAUSES_MS,
} from "../../src/queue/backoff.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SCHEDULE_MS = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

const webhookPauseMs = (options: Omit<RetryPauseOptions, "pausesMs">) =>
  retryPauseMs({ pausesMs: WEBHOOK_PAUSES_MS, ...options });

describe("the pauses between tries", () => {
  test("follow the schedule, and the tenth try is the last", () => {
    const pauses = SCHEDULE_MS.map((_, index) =>
      webhookPauseMs({ attempts: index + 1, scale: 1, random: 0.5 }),
    );
    expect(pauses).toEqual(SCHEDULE_MS);
    expect(webhookPauseMs({ attempts: 10, scale: 1, random: 0.5 })).toBeUndefined();
    expect(webhookPauseMs({ attempts: 11, scale: 1, random: 0.5 })).toBeUndefined();
  });

  test("differ by a fifth in either direction", () => {
    expect(webhookPauseMs({ attempts: 2, scale: 1, random: 0 })).toBeCloseTo(4 * MINUTE_MS);
    expect(webhookPauseMs({ attempts: 2, scale: 1, random: 1 })).toBeCloseTo(6 * MINUTE_MS);
  });

  test("are scaled by OUTBOX_BACKOFF_SCALE", () => {
    expect(webhookPauseMs({ attempts: 2, scale: 0.001, random: 0.5 })).toBeCloseTo(300);
  });

  test("are no shorter than the receiver asks for, up to a day", () => {
    const asked = { attempts: 1, scale: 1, random: 0.5 };
    expect(webhookPauseMs({ ...asked, retryAfterSeconds: 90 })).toBe(90_000);
    expect(webhookPauseMs({ ...asked, retryAfterSeconds: 1 })).toBe(5_000);
    expect(webhookPauseMs({ ...asked, retryAfterSeconds: 10_000_000 })).toBe(24 * HOUR_MS);
    expect(webhookPauseMs({ ...asked, attempts: 10, retryAfterSeconds: 90 })).toBeUndefined();
  });
});
