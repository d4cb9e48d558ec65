/** A job that waits for a place. */
type Enter = () => void;

/**
 * Places for jobs, given fairly between groups. A group never has all places, so that another one always finds a free
 * one or waits for a group of its own size. Waiting groups take turns, those with the fewest places first; within a
 * group, and for jobs without one, the order is that of their coming.
 */
export class Turns {
  readonly #places: number;
  readonly #placesOfOne: number;
  readonly #waiting = new Map<string | undefined, Set<Enter>>();
  readonly #held = new Map<string | undefined, number>();
  #busy = 0;
  #waitingJobs = 0;

  /** @param placesOfOne the most places of one group; all but one by default. */
  constructor(places: number, placesOfOne = Math.max(1, places - 1)) {
    this.#places = places;
    this.#placesOfOne = placesOfOne;
  }

  get waiting(): number {
    return this.#waitingJobs;
  }

  /** True when a job of this group would enter at once. */
  isFree(group: string | undefined): boolean {
    return this.#busy < this.#places && this.#mayHoldMore(group);
  }

  /** Gives the job a place that is free, which `leave` gives back; false where it has to wait for one. */
  enterFree(group: string | undefined): boolean {
    if (!this.isFree(group)) return false;
    this.#hold(group);
    return true;
  }

  /** Resolves when the job has a place, which `leave` gives back. Rejects with the signal's reason. */
  async enter(group: string | undefined, signal: AbortSignal): Promise<void> {
    // Whoever waits while a place is free may not have it: nobody is overtaken.
    if (!this.enterFree(group)) await this.#wait(group, signal);
  }

  leave(group: string | undefined): void {
    this.#busy -= 1;
    const left = this.#heldBy(group) - 1;
    if (left > 0) this.#held.set(group, left);
    else this.#held.delete(group);
    this.#putBehind(group);
    for (let next = this.#next(); next !== undefined; next = this.#next()) next();
  }

  #wait(group: string | undefined, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#remove(group, enter);
        signal.removeEventListener("abort", abort);
      };
      const enter = () => {
        end();
        this.#hold(group);
        resolve();
      };
      const abort = () => {
        end();
        reject(signal.reason);
      };
      const jobs = this.#waiting.get(group) ?? new Set();
      this.#waiting.set(group, jobs.add(enter));
      this.#waitingJobs += 1;
      signal.addEventListener("abort", abort, { once: true });
    });
  }

  #remove(group: string | undefined, enter: Enter): void {
    const jobs = this.#waiting.get(group);
    if (jobs?.delete(enter) !== true) return;
    this.#waitingJobs -= 1;
    if (jobs.size === 0) this.#waiting.delete(group);
  }

  /** The job whose turn it is, if there is a place for it; its group goes behind the others. */
  #next(): Enter | undefined {
    if (this.#busy >= this.#places) return undefined;
    const [group] = [...this.#waiting.keys()]
      .filter((waiting) => this.#mayHoldMore(waiting))
      .sort((left, right) => this.#heldBy(left) - this.#heldBy(right));
    const jobs = this.#waiting.get(group);
    // Jobs without a group are a group too: its key is undefined.
    if (jobs === undefined || !this.#mayHoldMore(group)) return undefined;
    this.#putBehind(group);
    return jobs.values().next().value;
  }

  #putBehind(group: string | undefined): void {
    const jobs = this.#waiting.get(group);
    if (jobs === undefined) return;
    this.#waiting.delete(group);
    this.#waiting.set(group, jobs);
  }

  #mayHoldMore(group: string | undefined): boolean {
    return group === undefined || this.#heldBy(group) < this.#placesOfOne;
  }

  #heldBy(group: string | undefined): number {
    return this.#held.get(group) ?? 0;
  }

  #hold(group: string | undefined): void {
    this.#busy += 1;
    this.#held.set(group, this.#heldBy(group) + 1);
  }
}
