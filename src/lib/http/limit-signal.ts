/**
 * Returns a signal that aborts when `signal` does, or with a `TimeoutError` after `limitMs`.
 *
 * Do not replace it with `AbortSignal.any` over `AbortSignal.timeout`. Nothing else references the timeout signal, so
 * Node garbage-collects it and it never aborts. A timer keeps what it aborts alive.
 */
export function limitSignal(signal: AbortSignal, limitMs: number): AbortSignal {
  const limit = new AbortController();
  const abort = () => limit.abort(new DOMException("The time limit was reached.", "TimeoutError"));
  setTimeout(abort, limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}
