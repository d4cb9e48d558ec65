import type { Clock } from "../../lib/time/clock.ts";
import type { Step } from "../definition/definition.ts";
import { type ClaimedRun, StepFailure } from "../runs/run.ts";

/** The longest time that a timer takes. */
const LONGEST_MS = 2 ** 31 - 1;

export interface Deadline {
  /** Aborts with a `StepFailure` when the time is over. */
  readonly signal: AbortSignal;
  readonly leftMs: () => number;
  readonly clear: () => void;
}

/** What is left of the run's time. Another try would have none either. */
export function startRunDeadline(
  { startedAt, timeoutSeconds }: ClaimedRun,
  clock: Clock,
): Deadline {
  const message = `The run took longer than its ${timeoutSeconds} s (timeout_seconds of the workflow).`;
  return startDeadline(
    startedAt + timeoutSeconds * 1_000 - clock.now(),
    () => new StepFailure("run_timeout", message),
  );
}

/** The time of one try of a step, from now on. What was slow may be faster at the next one. */
export function startTryDeadline({ timeout_seconds: seconds }: Step): Deadline {
  const message = `The step took longer than its ${seconds} s (timeout_seconds of the step).`;
  return startDeadline(
    (seconds ?? Number.POSITIVE_INFINITY) * 1_000,
    () => new StepFailure("step_timeout", message, { isRetryable: true }),
  );
}

function startDeadline(durationMs: number, failure: () => StepFailure): Deadline {
  const controller = new AbortController();
  const until = performance.now() + durationMs;
  // Whole milliseconds: timers of Node take no others.
  const leftMs = () => Math.max(0, Math.floor(until - performance.now()));
  const { signal } = controller;
  if (durationMs === Number.POSITIVE_INFINITY) return { signal, leftMs, clear: () => undefined };
  if (leftMs() === 0) controller.abort(failure());
  const expire = () => controller.abort(failure());
  const timer = setTimeout(expire, Math.min(leftMs(), LONGEST_MS)).unref();
  return { signal, leftMs, clear: () => clearTimeout(timer) };
}
