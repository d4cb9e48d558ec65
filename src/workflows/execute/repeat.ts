import { StepFailure } from "../runs/run.ts";
import { type Pauses, retryPauseMs } from "./retry-pause.ts";

export interface RepeatOptions {
  /** Repetitions after the first try. */
  readonly retries: number;
  readonly pauses: Pauses;
  readonly signal: AbortSignal;
  /** Called before each repetition, ahead of its pause. */
  readonly onRetry?: () => void;
}

/**
 * Does work, and again after a retryable `StepFailure`. Rejects with the last failure, which is not retryable any more:
 * nobody who waits for the same work repeats it once more. Rejects with the signal's reason when it aborts.
 */
export async function repeat<Result>(
  work: () => Promise<Result>,
  { retries, pauses, signal, onRetry }: RepeatOptions,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof StepFailure) || !thrown.isRetryable) throw thrown;
      if (tries > retries) throw asFinal(thrown);
      onRetry?.();
      await pauses.pause(retryPauseMs(thrown, tries, pauses.random()), signal);
    }
  }
}

function asFinal(failure: StepFailure): StepFailure {
  return new StepFailure(failure.code, failure.message, { row: failure.row, cause: failure });
}
