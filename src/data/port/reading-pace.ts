/** Bytes a second that every reader gets, however late calls are: 150 MB a minute. */
const LEAST_RATE = 2_500_000;
/** About as fast as rows can be read; beyond it there is nothing to slow down. */
const FULL_RATE = 32_000_000;
/** Calls that the server answers this late want the processor time that readers take. */
const LATE_MS = 5;
const FALL = 1 / 4;
const RISE = 1.1;
/** Rows are asked for in goes of about this time, so that calls get in between them. */
const GO_SECONDS = 0.05;

/** What a reader needs to know of the pace. */
export type Pace = Pick<ReadingPace, "goBytes" | "timeMs">;

/**
 * How fast each reader may read, in goes with a pause after each: while the database waits, it takes no time from the
 * calls. The rate falls quickly while calls are late, rises slowly while they are not, and has no limit without calls.
 */
export class ReadingPace {
  /** Bytes a second. */
  #rate = Number.POSITIVE_INFINITY;

  /** @param lateMs how late the server was just now; null while it has no calls. */
  tell(lateMs: number | null): void {
    if (lateMs === null) this.#rate = Number.POSITIVE_INFINITY;
    else if (lateMs > LATE_MS) {
      this.#rate = Math.max(LEAST_RATE, Math.min(this.#rate, FULL_RATE) * FALL);
    } else {
      const risen = this.#rate * RISE;
      this.#rate = risen < FULL_RATE ? risen : Number.POSITIVE_INFINITY;
    }
  }

  /** The size of a go; infinite for any. */
  goBytes(): number {
    return this.#rate * GO_SECONDS;
  }

  /** The milliseconds that a go of so many bytes takes, its pause included; 0 for no pause. */
  timeMs(bytes: number): number {
    return (bytes / this.#rate) * 1_000;
  }
}
