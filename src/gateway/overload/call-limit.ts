/** The readings of the process at one look. */
export interface Load {
  /** The delay of the event loop: how late a timer fired, plus the work that ran before the next turn. */
  readonly loopDelayMs: number;
  /** Calls in progress. */
  readonly calls: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: number;
}

/**
 * A loop that is this late for this long has more calls than it can carry; one burst of new calls is not enough. Time
 * in which the loop is earlier is subtracted again, because a reading may fall just before the work.
 */
const OVERLOADED_MS = 120;
const OVERLOADED_FOR_MS = 1_500;
/**
 * Once there is a limit, it falls while the loop is later than `LATE_MS`, and rises while it is earlier than
 * `EARLY_MS`.
 */
const LATE_MS = 90;
const EARLY_MS = 50;
const FALL_MOST = 0.7;
const FALL_LEAST = 0.95;
const RISE_SHARE = 0.02;
/** The limit never falls below this number, because so few concurrent calls cannot be too many. */
const CALLS_MIN = 128;
/** A limit that the number of calls has not approached for this long is lifted. */
const LIFT_AFTER_MS = 5_000;

/**
 * The number of concurrent calls that the event loop can carry, derived from its delay. There is no limit until the
 * loop has been late for a while: thousands of quiet streams cost it little, and a few hundred busy ones may be too
 * many.
 */
export class CallLimit {
  #calls = Number.POSITIVE_INFINITY;
  #overloadedForMs = 0;
  #lookedAt = 0;
  #neededAt = 0;

  /** Infinity when there is no limit. */
  get calls(): number {
    return this.#calls;
  }

  look(load: Load): void {
    if (this.#calls === Number.POSITIVE_INFINITY) this.#begin(load);
    else this.#adjust(load);
    this.#lookedAt = load.now;
  }

  #begin({ loopDelayMs, calls, now }: Load): void {
    const passedMs = now - this.#lookedAt;
    const isLate = loopDelayMs >= OVERLOADED_MS && calls > CALLS_MIN;
    this.#overloadedForMs = Math.max(0, this.#overloadedForMs + (isLate ? passedMs : -passedMs));
    if (this.#overloadedForMs < OVERLOADED_FOR_MS) return;
    this.#overloadedForMs = 0;
    this.#neededAt = now;
    this.#fall(calls, loopDelayMs);
  }

  #adjust({ loopDelayMs, calls, now }: Load): void {
    if (calls > this.#calls / 2 || loopDelayMs > LATE_MS) this.#neededAt = now;
    if (loopDelayMs > LATE_MS) {
      this.#fall(Math.min(this.#calls, calls), loopDelayMs);
    } else if (now - this.#neededAt >= LIFT_AFTER_MS) {
      this.#calls = Number.POSITIVE_INFINITY;
    } else if (loopDelayMs < EARLY_MS && calls >= this.#calls) {
      this.#calls += Math.ceil(this.#calls * RISE_SHARE);
    }
  }

  /** Lowers the limit; the later the loop, the lower the new limit. */
  #fall(from: number, loopDelayMs: number): void {
    const share = Math.sqrt(LATE_MS / loopDelayMs);
    const kept = Math.min(FALL_LEAST, Math.max(FALL_MOST, share));
    this.#calls = Math.max(CALLS_MIN, Math.floor(from * kept));
  }
}
