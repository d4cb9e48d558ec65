import { ServiceError } from "../../core/service-error.ts";
import { watchTime } from "../../lib/watch-time.ts";

export interface WatchOptions {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** The total time limit of the call. */
  readonly timeoutMs: number;
  /** How long the engine may be silent during a read; undefined: as long as the call may take. */
  readonly idleTimeoutMs: number | undefined;
}

/** Enforces the time limits of one upstream call. */
export interface CallWatch {
  /** Aborted when the client left, with its reason, or when time is up, with a `ServiceError`. */
  readonly signal: AbortSignal;
  /** Marks the start of a wait for the engine. */
  readonly waiting: () => void;
  /** Marks that the engine sent something. Until the next `waiting` the gateway is not waiting for it. */
  readonly heard: () => void;
  /** Aborts the call with a reason of the gateway's own. */
  readonly abort: (reason: unknown) => void;
  /** Must be called when the call is over. */
  readonly close: () => void;
}

/** Starts watching a call. It polls when the engine was last heard, so that a token costs no timer. */
export function watchCall({ signal, timeoutMs, idleTimeoutMs }: WatchOptions): CallWatch {
  const controller = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  let waitingSince: number | undefined;

  const leave = () => controller.abort(signal.reason);
  const check = (now: number) => {
    const error = overdue(now);
    if (error === undefined) return;
    stopWatching();
    controller.abort(error);
  };
  const overdue = (now: number) => {
    if (now >= endsAt) return timedOut(`took longer than ${seconds(timeoutMs)}`);
    if (idleTimeoutMs === undefined || waitingSince === undefined) return undefined;
    if (now - waitingSince < idleTimeoutMs) return undefined;
    return timedOut(`was silent for ${seconds(idleTimeoutMs)}`);
  };

  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  const stopWatching = watchTime(check);
  return {
    signal: controller.signal,
    waiting() {
      waitingSince = performance.now();
    },
    heard() {
      waitingSince = undefined;
    },
    abort: (reason) => controller.abort(reason),
    close() {
      stopWatching();
      signal.removeEventListener("abort", leave);
    },
  };
}

function timedOut(what: string): ServiceError {
  return new ServiceError("upstream_timeout", `The model server ${what}.`);
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} seconds`;
}
