import type { SessionClock } from "../../../../src/data/port/session/session-limits.ts";

/** A clock that stands until it is moved. */
export class HandClock implements SessionClock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  readonly now = () => this.#now;

  readonly after = (milliseconds: number, run: () => void) => {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  move(milliseconds: number): void {
    this.#now += milliseconds;
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue;
      timer.run();
    }
  }

  /** Whether a timer runs out after exactly so long. */
  waits(milliseconds: number): boolean {
    return [...this.#timers].some(({ at }) => at - this.#now === milliseconds);
  }
}
