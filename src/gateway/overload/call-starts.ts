/** So few running calls need no order. */
const FEW_CALLS = 64;
/** Calls that begin in one turn of the event loop: one or two milliseconds of work. */
const A_TURN = 16;

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
}

/** What the order of starts needs to know. */
export interface StartReadings {
  /** Returns the number of running calls. */
  readonly running: () => number;
  /** Returns milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/**
 * Lets calls begin a few in each turn of the event loop, in the order of their arrival. A thousand that arrive together
 * would keep every answer in progress waiting until the last of them has begun, and more calls in progress cost more
 * each.
 */
export class CallStarts {
  readonly #readings: StartReadings;
  readonly #waiting: Waiting[] = [];
  #left = A_TURN;
  #isPlanned = false;

  constructor(readings: StartReadings) {
    this.#readings = readings;
  }

  /** Returns undefined when the next call may begin now. */
  next(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#readings.running() < FEW_CALLS) return undefined;
    if (!this.#isPlanned) setImmediate(this.#turn);
    this.#isPlanned = true;
    if (this.#left > 0) {
      this.#left -= 1;
      return undefined;
    }
    return new Promise((begin) => this.#waiting.push({ since: this.#readings.now(), begin }));
  }

  /** The milliseconds that the first of those that wait has waited. */
  waitedMs(): number {
    const first = this.#waiting[0];
    return first === undefined ? 0 : this.#readings.now() - first.since;
  }

  readonly #turn = (): void => {
    const due = this.#waiting.splice(0, A_TURN);
    this.#left = A_TURN - due.length;
    this.#isPlanned = due.length > 0;
    if (this.#isPlanned) setImmediate(this.#turn);
    for (const { begin } of due) begin();
  };
}
