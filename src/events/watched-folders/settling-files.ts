/**
 * A file that was like this at two looks so far apart, and at those between, is as its writer means it. It is longer than
 * the three seconds for which a client of a network file system may tell an old size of a file that grows.
 */
const SETTLE_MS = 5_000;
/** Files that are kept so at once, in some 20 MB; further ones wait for their turn. */
const SETTLING_MAX = 50_000;

interface Settling {
  readonly state: string;
  readonly sinceMs: number;
}

/** The files that differ from what is known of them, with how long they have been as they are. */
export class SettlingFiles {
  #before: ReadonlyMap<string, Settling> = new Map();
  #now = new Map<string, Settling>();

  /** Another look at the folder: what it does not come across is forgotten. */
  beginLook(): void {
    this.#before = this.#now;
    this.#now = new Map();
  }

  get count(): number {
    return this.#now.size;
  }

  /**
   * True when the file has been in this state for long enough; from then on it is no longer kept.
   *
   * @param state a text that is the same as long as the file is.
   */
  isSettled(path: string, state: string): boolean {
    const nowMs = performance.now();
    const before = this.#before.get(path);
    const sinceMs = before?.state === state ? before.sinceMs : nowMs;
    if (nowMs - sinceMs >= SETTLE_MS) return true;
    if (this.#now.size < SETTLING_MAX) this.#now.set(path, { state, sinceMs });
    return false;
  }
}
