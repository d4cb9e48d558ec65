/**
 * A signal that aborts when `signal` does, or with a `TimeoutError` once `limitMs` are over.
 *
 * `AbortSignal.any` over `AbortSignal.timeout` is no such signal: nothing but the other holds the timeout, Node drops it
 * with its next garbage collection, and it never aborts. A timer holds what it aborts.
 */
export function limitSignal(signal: AbortSignal, limitMs: number): AbortSignal {
  const limit = new AbortController();
  const abort = () => limit.abort(new DOMException("The time is over.", "TimeoutError"));
  setTimeout(abort, limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}
