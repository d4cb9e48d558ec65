/** This many refusals between two looks at the loop, about a tenth of a second, cost it almost nothing. */
const AT_ONCE = 100;
/** About one second of refusals; further ones do not wait. */
const WAITING_MAX = 1_000;

/**
 * Paces refusals, so that they do not use up the capacity they protect. Thousands of clients that retry at once would
 * keep the loop busy with refusals. A refusal is sent at once while there are few, and otherwise within about a second,
 * in the order of arrival.
 */
export class RefusalPace {
  readonly #waiting: (() => void)[] = [];
  #left = AT_ONCE;

  /** Returns undefined when the next refusal may be sent at once. */
  next(): Promise<void> | undefined {
    if (this.#left > 0) {
      this.#left -= 1;
      return undefined;
    }
    if (this.#waiting.length >= WAITING_MAX) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Releases the next waiting refusals; called at each look. */
  look(): void {
    const due = this.#waiting.splice(0, AT_ONCE);
    this.#left = AT_ONCE - due.length;
    for (const resolve of due) resolve();
  }

  /** Releases all waiting refusals. */
  close(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
