/** Runs looks for work one at a time: at an interval, and sooner on request. */
export class LookTimer {
  readonly #look: () => Promise<void>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #nextAt = Number.POSITIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  #isStopped = false;

  /** @param look never rejects. */
  constructor(look: () => Promise<void>, intervalMs: number) {
    this.#look = look;
    this.#intervalMs = intervalMs;
  }

  /** Schedules a look after this pause; an earlier one that is already scheduled stays. */
  lookIn(pauseMs: number): void {
    const at = performance.now() + pauseMs;
    if (this.#isStopped || at >= this.#nextAt) return;
    clearTimeout(this.#timer);
    this.#nextAt = at;
    this.#timer = setTimeout(() => void this.#lookOnce(), pauseMs).unref();
  }

  /** Starts no further look; resolves when the one in progress has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#nextAt = Number.POSITIVE_INFINITY;
    if (this.#looking !== undefined) {
      // New work may have arrived too late for the look in progress.
      this.#looksAgain = true;
      return;
    }
    this.#looking = this.#look();
    await this.#looking;
    this.#looking = undefined;
    this.lookIn(this.#looksAgain ? 0 : this.#intervalMs);
    this.#looksAgain = false;
  }
}
