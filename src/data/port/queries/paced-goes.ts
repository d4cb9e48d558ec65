import type { Pace } from "../reading-pace.ts";

/** A reader that is late may catch up with so much of its time. */
const LATE_MAX_MS = 250;
/** The server ends a transaction that waits for a minute. */
const PAUSE_MAX_MS = 10_000;

/** The goes of one statement after its first: each one begins when the pace allows it. */
export class PacedGoes {
  readonly #pace: Pace;
  readonly #begin: () => void;
  /** When the last go, its pause included, was to end. */
  #dueAt = 0;
  #bytesBefore = 0;
  #pausing: NodeJS.Timeout | undefined;

  constructor(pace: Pace, begin: () => void) {
    this.#pace = pace;
    this.#begin = begin;
  }

  /** The size of a go; infinite for any. */
  get goBytes(): number {
    return this.#pace.goBytes();
  }

  /** Begins the next go, now or after its pause. @param bytes of the answer so far. */
  next(bytes: number): void {
    if (this.#pausing !== undefined) return;
    const now = performance.now();
    const from = Math.max(this.#dueAt, now - LATE_MAX_MS);
    const dueAt = from + this.#pace.timeMs(bytes - this.#bytesBefore);
    this.#dueAt = Math.min(dueAt, now + PAUSE_MAX_MS);
    this.#bytesBefore = bytes;
    if (this.#dueAt <= now) this.#begin();
    else this.#pausing = setTimeout(() => this.#resume(), this.#dueAt - now);
  }

  end(): void {
    clearTimeout(this.#pausing);
  }

  #resume(): void {
    this.#pausing = undefined;
    this.#begin();
  }
}
