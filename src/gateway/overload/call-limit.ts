/** What is read of the process at one look. */
export interface Load {
  /** How long the event loop took to come round: how late a timer was, and what ran before the next turn. */
  readonly loopDelayMs: number;
  /** Calls under way. */
  readonly calls: number;
  /** Milliseconds of a clock that nobody can set. */
  readonly now: number;
}

/**
 * A loop that is so late for so long has more calls than it carries; one burst of new calls is no reason. Time in which
 * it comes round earlier is taken off again: a reading may fall just before the work.
 */
const OVERLOADED_MS = 120;
const OVERLOADED_FOR_MS = 1_500;
/** Once there is a limit, it falls while the loop is later than this, and rises while it is earlier than that. */
const LATE_MS = 90;
const EARLY_MS = 50;
const FALL_MOST = 0.7;
const FALL_LEAST = 0.95;
const RISE_SHARE = 0.02;
/** So few calls at once cannot be too many. */
const CALLS_MIN = 128;
/** A limit that nobody has come near for so long is lifted. */
const LIFT_AFTER_MS = 5_000;

/**
 * How many calls at once the event loop carries, found out by looking at how late it is. There is no limit until the
 * loop has been late for a while: thousands of quiet streams cost it little, and a few hundred busy ones may be too many.
 */
export class CallLimit {
  #calls = Number.POSITIVE_INFINITY;
  #overloadedForMs = 0;
  #lookedAt = 0;
  #neededAt = 0;

  /** Infinity when there is none. */
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

  /** The later the loop, the further the fall. */
  #fall(from: number, loopDelayMs: number): void {
    const share = Math.sqrt(LATE_MS / loopDelayMs);
    const kept = Math.min(FALL_LEAST, Math.max(FALL_MOST, share));
    this.#calls = Math.max(CALLS_MIN, Math.floor(from * kept));
  }
}
