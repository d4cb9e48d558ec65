import { BoundedMemory } from "../../../lib/bounded-memory.ts";
import type { Clock } from "../../../lib/time/clock.ts";

const FRESH_MS = 600_000;
const ENTRIES_MAX = 1_000;
const BYTES_MAX = 16 * 1024 * 1024;

interface Figure<Value> {
  readonly value: Promise<Value>;
  readonly madeAt: number;
}

/**
 * Figures of stores that take long to make and change as slowly as the store. After 10 minutes one is made again; until
 * then the old one is returned as long as it is kept.
 */
export class RememberedFigures<Value> {
  readonly #memory: BoundedMemory<Figure<Value>>;
  readonly #clock: Clock;
  readonly #bytesOf: (value: Value) => number;

  /**
   * @param keptMs how old a figure may be: 10 minutes when no old one may be used.
   * @param bytesOf what a value takes in memory, about.
   */
  constructor(clock: Clock, keptMs: number, bytesOf: (value: Value) => number) {
    const bounds = { maxSize: BYTES_MAX, maxEntries: ENTRIES_MAX, timeToLiveMs: keptMs };
    this.#memory = new BoundedMemory(clock, bounds);
    this.#clock = clock;
    this.#bytesOf = bytesOf;
  }

  /** Returns a figure, which is made once for all who ask meanwhile; one that failed is made again. */
  read(name: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.#memory.peek(name);
    if (known === undefined) return this.#make(name, make);
    if (this.#clock.now() - known.madeAt >= FRESH_MS) this.#makeAgain(name, known, make);
    return known.value;
  }

  #make(name: string, make: () => Promise<Value>): Promise<Value> {
    const value = make();
    const figure = { value, madeAt: this.#clock.now() };
    this.#memory.set(name, figure, 0);
    value.then(
      (made) => this.#memory.set(name, figure, this.#bytesOf(made)),
      () => this.#memory.delete(name),
    );
    return value;
  }

  /** The old figure counts as new until the other one is there, so that it is begun once; also when that fails. */
  #makeAgain(name: string, old: Figure<Value>, make: () => Promise<Value>): void {
    const madeAt = this.#clock.now();
    const keep = (value: Promise<Value>, made: Value) =>
      this.#memory.set(name, { value, madeAt }, this.#bytesOf(made));
    old.value.then(
      (made) => keep(old.value, made),
      () => undefined,
    );
    const value = make();
    value.then(
      (made) => keep(value, made),
      () => undefined,
    );
  }
}
