/** A limit on calls holds in every 60 seconds, wherever they begin. */
export const WINDOW_MS = 60_000;

const FIRST_CAPACITY = 8;

/**
 * When the calls of the last 60 seconds were admitted, exact to the clock's millisecond. Calls of one millisecond share
 * an entry: so however many there are, no more than 60,000 entries are held. Times come in whole milliseconds and never
 * run backwards.
 */
export class CallWindow {
  /** A ring: its capacity is a power of two. */
  #times = new Float64Array(FIRST_CAPACITY);
  #counts = new Uint32Array(FIRST_CAPACITY);
  #oldest = 0;
  #entries = 0;
  #calls = 0;

  /** Calls in the 60 seconds that end with `now`. */
  callsAt(now: number): number {
    while (this.#entries > 0 && this.#time(0) <= now - WINDOW_MS) {
      this.#calls -= this.#count(0);
      this.#oldest = this.#place(1);
      this.#entries -= 1;
    }
    return this.#calls;
  }

  add(now: number): void {
    this.#calls += 1;
    if (this.#entries > 0 && this.#time(this.#entries - 1) === now) {
      const newest = this.#place(this.#entries - 1);
      this.#counts[newest] = this.#count(this.#entries - 1) + 1;
      return;
    }
    if (this.#entries === this.#times.length) this.#grow();
    const next = this.#place(this.#entries);
    this.#times[next] = now;
    this.#counts[next] = 1;
    this.#entries += 1;
  }

  /** Milliseconds until so many calls have left that one more is admitted under `limit`; 0 when it is already. */
  opensInMs(now: number, limit: number): number {
    let calls = this.callsAt(now);
    for (let entry = 0; entry < this.#entries; entry += 1) {
      if (calls < limit) return entry === 0 ? 0 : this.#time(entry - 1) + WINDOW_MS - now;
      calls -= this.#count(entry);
    }
    return this.emptiesInMs(now);
  }

  /** Milliseconds until all calls so far have left; 0 when they have already. */
  emptiesInMs(now: number): number {
    if (this.callsAt(now) === 0) return 0;
    return this.#time(this.#entries - 1) + WINDOW_MS - now;
  }

  #place(entry: number): number {
    return (this.#oldest + entry) & (this.#times.length - 1);
  }

  #time(entry: number): number {
    return this.#times[this.#place(entry)] ?? 0;
  }

  #count(entry: number): number {
    return this.#counts[this.#place(entry)] ?? 0;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const counts = new Uint32Array(times.length);
    for (let entry = 0; entry < this.#entries; entry += 1) {
      times[entry] = this.#time(entry);
      counts[entry] = this.#count(entry);
    }
    this.#times = times;
    this.#counts = counts;
    this.#oldest = 0;
  }
}
