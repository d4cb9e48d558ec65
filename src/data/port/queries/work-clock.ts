/** The time in which the database works, and does not wait for the client. */
export class WorkClock {
  readonly #graceMs: number;
  readonly #onOver: () => void;
  #leftMs: number;
  #running: { readonly timer: NodeJS.Timeout; readonly startedAt: number } | undefined;

  constructor(limitMs: number, graceMs: number, onOver: () => void) {
    this.#leftMs = limitMs;
    this.#graceMs = graceMs;
    this.#onOver = onOver;
  }

  start(): void {
    this.stop();
    this.#begin();
  }

  /** Goes on as if it had been started only now. */
  restart(): void {
    if (this.#running === undefined) return;
    clearTimeout(this.#running.timer);
    this.#begin();
  }

  #begin(): void {
    const timer = setTimeout(this.#onOver, this.#leftMs + this.#graceMs);
    this.#running = { timer, startedAt: Date.now() };
  }

  stop(): void {
    if (this.#running === undefined) return;
    clearTimeout(this.#running.timer);
    this.#leftMs = Math.max(0, this.#leftMs - (Date.now() - this.#running.startedAt));
    this.#running = undefined;
  }
}
