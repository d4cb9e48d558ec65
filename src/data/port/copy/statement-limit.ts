import type { ServerError } from "../protocol/backend-messages.ts";

/** A statement that ends by itself soon after it should costs nothing. */
const GRACE_MS = 500;

export const cancelled = (message: string): ServerError => ({
  severity: "ERROR",
  code: "57014",
  message,
});
const byTime = cancelled("canceling statement due to statement timeout");

/**
 * The time of a session's statement in progress, and why it must end early. What runs inside the database cannot be
 * interrupted: a statement that does not end costs the process.
 */
export class StatementLimit {
  readonly #limitMs: () => number;
  readonly #exit: (reason: ServerError) => void;
  #stop: ServerError | undefined;
  #deadline: number | undefined;
  #isRunning = false;

  /**
   * @param limitMs the time of a statement that begins now.
   * @param exit ends the process.
   */
  constructor(limitMs: () => number, exit: (reason: ServerError) => void) {
    this.#limitMs = limitMs;
    this.#exit = exit;
  }

  /** Ends the statement in progress. False where there is none. */
  stop(reason: ServerError): boolean {
    const deadline = this.#deadline;
    if (deadline === undefined) return false;
    this.#stop = reason;
    if (this.#isRunning) {
      setTimeout(() => {
        if (this.#isRunning && this.#deadline === deadline) this.#exit(reason);
      }, GRACE_MS);
    }
    return true;
  }

  /** Runs something of the statement in the database. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#deadline ??= Date.now() + this.#limitMs();
    const left = Math.max(0, this.#deadline - Date.now());
    const overrun = setTimeout(() => this.#exit(byTime), left + GRACE_MS);
    this.#isRunning = true;
    try {
      return await work();
    } finally {
      this.#isRunning = false;
      clearTimeout(overrun);
    }
  }

  /** Why the statement must end now. */
  reasonToStop(): ServerError | undefined {
    if (this.#stop !== undefined) return this.#stop;
    return this.#deadline !== undefined && Date.now() > this.#deadline ? byTime : undefined;
  }

  /** The statement has ended: the next one has its own time. */
  finished(): void {
    this.#deadline = undefined;
    this.#stop = undefined;
  }
}
