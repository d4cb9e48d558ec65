import type { Clock } from "./time/clock.ts";

interface Bounds {
  /** The largest sum of the sizes of all values. */
  readonly maxSize: number;
  readonly maxEntries: number;
  /** How long a value is kept after it was set or read. */
  readonly timeToLiveMs: number;
}

interface Entry<Value> {
  readonly value: Value;
  readonly size: number;
  expiresAt: number;
}

/** Values by id, in this process only. When a limit is exceeded, the least recently used value is dropped first. */
export class BoundedMemory<Value> {
  readonly #clock: Clock;
  readonly #bounds: Bounds;
  // In order of use, the most recent at the end. The first entry is therefore also the first to expire.
  readonly #entries = new Map<string, Entry<Value>>();
  #size = 0;

  constructor(clock: Clock, bounds: Bounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Returns the value without counting this as a use. */
  peek(id: string): Value | undefined {
    this.#dropExpired();
    return this.#entries.get(id)?.value;
  }

  get(id: string): Value | undefined {
    this.#dropExpired();
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.expiresAt = this.#clock.now() + this.#bounds.timeToLiveMs;
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry.value;
  }

  /** Stores a value. A value larger than `maxSize` is not kept. */
  set(id: string, value: Value, size: number): void {
    this.delete(id);
    this.#dropExpired();
    const { maxSize, maxEntries, timeToLiveMs } = this.#bounds;
    if (size > maxSize) return;
    this.#entries.set(id, { value, size, expiresAt: this.#clock.now() + timeToLiveMs });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries && this.#size <= maxSize) break;
      this.delete(oldest);
    }
  }

  delete(id: string): void {
    this.#size -= this.#entries.get(id)?.size ?? 0;
    this.#entries.delete(id);
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [id, { expiresAt }] of this.#entries) {
      if (expiresAt > now) break;
      this.delete(id);
    }
  }
}
