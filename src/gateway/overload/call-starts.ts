/** So few running calls need no order. */
const FEW_CALLS = 64;
/** Calls that begin in one turn of the event loop: one or two milliseconds of work. */
const A_TURN = 16;
/** The time of one turn that counts as waiting. A longer one is a pause of the process, which says nothing of its load. */
const TURN_MAX_MS = 250;

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
  #turnedAt = 0;
  /** The time of all turns in which calls waited, without pauses of the process. */
  #waitingMs = 0;

  constructor(readings: StartReadings) {
    this.#readings = readings;
  }

  /** The number of calls that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** The milliseconds that the first of those that wait had waited when the loop last came round. */
  get waitedMs(): number {
    const first = this.#waiting[0];
    return first === undefined ? 0 : this.#waitingMs - first.since;
  }

  /** Returns undefined when the next call may begin now. */
  next(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#readings.running() < FEW_CALLS) return undefined;
    this.#plan();
    if (this.#left > 0) {
      this.#left -= 1;
      return undefined;
    }
    return new Promise((begin) => this.#waiting.push({ since: this.#waitingMs, begin }));
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#turnedAt = this.#readings.now();
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#waitingMs += Math.min(this.#readings.now() - this.#turnedAt, TURN_MAX_MS);
    const due = this.#waiting.splice(0, A_TURN);
    this.#left = A_TURN - due.length;
    this.#isPlanned = false;
    if (due.length > 0) this.#plan();
    for (const { begin } of due) begin();
  };
}
