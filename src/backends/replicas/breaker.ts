/** Failures in a row after which a replica is left alone. */
const FAILURES_TO_OPEN = 3;
/** How long it is left alone before one probe decides. */
const PAUSE_MS = 2_000;

/** `half-open`: one probe is under way. */
type BreakerState = "closed" | "open" | "half-open";

/** Keeps calls away from a replica that fails. Times are milliseconds of a clock that never runs backwards. */
export class Breaker {
  #state: BreakerState = "closed";
  #failures = 0;
  #probeAt = 0;

  /** Calls may go there. */
  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** True when this closes it. */
  succeeded(): boolean {
    const wasClosed = this.isClosed;
    this.#state = "closed";
    this.#failures = 0;
    return !wasClosed;
  }

  /** True when this opens it. `isDown`: nobody is there, so that no second failure need prove it. */
  failed(now: number, isDown: boolean): boolean {
    const wasClosed = this.isClosed;
    this.#failures += 1;
    if (wasClosed && !isDown && this.#failures < FAILURES_TO_OPEN) return false;
    this.#state = "open";
    this.#probeAt = now + PAUSE_MS;
    return wasClosed;
  }

  /** True for the one probe that may be made after the pause; its outcome is to be told. */
  takesProbe(now: number): boolean {
    if (this.#state !== "open" || now < this.#probeAt) return false;
    this.#state = "half-open";
    return true;
  }
}
