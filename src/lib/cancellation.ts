/** Called on abort: a function, or an object of a class that is spared a function for each of its objects. */
type AbortListener = (() => void) | { readonly handleEvent: () => void };

/** Tells work when to stop. Most code can take either kind. */
export type CancelSignal = AbortSignal | Cancellation;

/**
 * Its own controller and signal, with the members of `AbortSignal` that most code needs. Each model call has several,
 * and an `AbortController` with its event target costs ten times as much. Where a library needs a true signal:
 * `toAbortSignal`.
 */
export class Cancellation {
  #isAborted = false;
  #reason: unknown;
  #listeners: AbortListener[] | undefined;
  #signal: AbortSignal | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The same as an `AbortSignal`, which is created when it is first needed. */
  get signal(): AbortSignal {
    this.#signal ??= this.#createSignal();
    return this.#signal;
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  /** The listener is called at most once. */
  addEventListener(
    _type: "abort",
    listener: AbortListener,
    _options?: { readonly once: true },
  ): void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: AbortListener): void {
    const place = this.#listeners?.indexOf(listener) ?? -1;
    if (place >= 0) this.#listeners?.splice(place, 1);
  }

  /** Only the first call has an effect. */
  abort(reason: unknown = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) {
      if (typeof listener === "function") listener();
      else listener.handleEvent();
    }
  }

  #createSignal(): AbortSignal {
    const controller = new AbortController();
    if (this.#isAborted) controller.abort(this.#reason);
    else this.addEventListener("abort", () => controller.abort(this.#reason));
    return controller.signal;
  }
}

/** Returns a true `AbortSignal`, for libraries that take nothing else. */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  return signal instanceof Cancellation ? signal.signal : signal;
}
