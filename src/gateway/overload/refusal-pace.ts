/** So many refusals between two looks at the loop, about a tenth of a second, cost it next to nothing. */
const AT_ONCE = 100;
/** About a second's worth; further ones are not kept waiting. */
const WAITING_MAX = 1_000;

/**
 * Keeps refusals from using up what is refused for: thousands of clients that send again at once would have the loop do
 * little else. A refusal is given at once while there are few, and else within about a second, in the order they came.
 */
export class RefusalPace {
  readonly #waiting: (() => void)[] = [];
  #left = AT_ONCE;

  /** Undefined when the next refusal may be given at once. */
  next(): Promise<void> | undefined {
    if (this.#left > 0) {
      this.#left -= 1;
      return undefined;
    }
    if (this.#waiting.length >= WAITING_MAX) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** At each look. */
  look(): void {
    const due = this.#waiting.splice(0, AT_ONCE);
    this.#left = AT_ONCE - due.length;
    for (const resolve of due) resolve();
  }

  /** Lets all go. */
  close(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
