/** Maximum of files tracked at once, in some 20 MB; further ones wait for their turn. */
const SETTLING_MAX = 50_000;

interface Settling {
  readonly state: string;
  readonly sinceMs: number;
}

export interface SettlingOptions {
  /**
   * WATCH_SETTLE_MS: a file that did not change between two looks this far apart, and at those between, is complete. A
   * client of a network file system may report an old size of a growing file for three seconds.
   */
  readonly settleMs: number;
  /** Milliseconds of a monotonic clock. */
  readonly steadyNow: () => number;
}

/** The files that differ from their rows, and for how long they have not changed. */
export class SettlingFiles {
  readonly #options: SettlingOptions;
  #before: ReadonlyMap<string, Settling> = new Map();
  #now = new Map<string, Settling>();

  constructor(options: SettlingOptions) {
    this.#options = options;
  }

  /** Begins another look at the folder: files that it does not meet are forgotten. */
  beginLook(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  get count(): number {
    return this.#now.size;
  }

  /**
   * Returns whether the file has been in this state for long enough; it is then no longer tracked.
   * @param state a text that is the same until the file changes.
   */
  isSettled(path: string, state: string): boolean {
    const nowMs = this.#options.steadyNow();
    const before = this.#before.get(path);
    const sinceMs = before?.state === state ? before.sinceMs : nowMs;
    if (nowMs - sinceMs >= this.#options.settleMs) return true;
    if (this.#now.size < SETTLING_MAX) this.#now.set(path, { state, sinceMs });
    return false;
  }
}
