import type { Clock } from "../../../lib/time/clock.ts";
import { watchTime } from "../../../lib/time/watch-time.ts";
import { within } from "../../../lib/time/within.ts";
import type { WorkContext } from "../../../queue/topic.ts";
import { type ClaimedRun, type ExecuteRun, type RunEnd, StepFailure } from "../run.ts";

/** How long a run whose time is over may take to record its steps. */
const LATE_END_MS = 5_000;

interface Timed {
  /** The first start, Unix milliseconds. */
  readonly startedAt: number;
  readonly timeoutSeconds: number;
}

/** Whether the time of a run is over. It counts from the first start, whichever worker that was. */
export function isOverdue({ startedAt, timeoutSeconds }: Timed, now: number): boolean {
  return now >= startedAt + timeoutSeconds * 1_000;
}

/**
 * Executes a run until it ends or its time is over, which aborts the signal that it gets. Rejects with what `execute`
 * rejects with; when the worker's own signal aborts, as soon as `execute` notices it.
 */
export async function executeInTime(
  execute: ExecuteRun,
  run: ClaimedRun,
  { context, clock }: { readonly context: WorkContext; readonly clock: Clock },
): Promise<RunEnd | "run_timeout"> {
  const limit = new AbortController();
  const forward = () => limit.abort(context.signal.reason);
  if (context.signal.aborted) forward();
  else context.signal.addEventListener("abort", forward, { once: true });
  let isOver = false;
  let giveUp: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (giveUp = resolve));
  const stopWatching = watchTime(() => {
    if (isOver || !isOverdue(run, clock.now())) return;
    isOver = true;
    limit.abort(new StepFailure("run_timeout", "The time of the run is over."));
    giveUp();
  });
  const execution = execute(run, { ...context, signal: limit.signal });
  const late = async () => {
    await over;
    await within(execution, LATE_END_MS, () => new Error("it did not stop")).catch(() => undefined);
    return "run_timeout" as const;
  };
  try {
    const end = await Promise.race([execution, late()]);
    // What completed at the last moment has completed.
    return isOver && end !== "run_timeout" && end.status === "failed" ? "run_timeout" : end;
  } catch (thrown) {
    if (isOver && !context.signal.aborted) return "run_timeout";
    throw thrown;
  } finally {
    stopWatching();
    context.signal.removeEventListener("abort", forward);
    execution.catch(() => undefined);
  }
}
