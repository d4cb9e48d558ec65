import type { ReadSession } from "./read-sessions.ts";
import type { RunLimits } from "./run-limits.ts";
import { WorkClock } from "./work-clock.ts";

export interface RunSessionOptions {
  readonly limits: RunLimits;
  /** The time in which the database may work. */
  readonly timeoutMs: number;
  /** Called when that time is over. */
  readonly onTimeout: () => void;
}

/** The database session of one statement: what it is sent, how long it works, and how it is given back. */
export class RunSession {
  readonly #held: ReadSession;
  readonly #limits: RunLimits;
  readonly #clock: WorkClock;
  /** Of a stalled client, or of a cancel that has no effect. */
  #waiting: NodeJS.Timeout | undefined;
  #isPaused = false;
  #isCancelled = false;

  constructor(held: ReadSession, { limits, timeoutMs, onTimeout }: RunSessionOptions) {
    this.#held = held;
    this.#limits = limits;
    this.#clock = new WorkClock(timeoutMs, limits.graceMs, onTimeout);
  }

  send(messages: Buffer): void {
    this.#held.session.send(messages);
    this.#clock.start();
  }

  get isWaiting(): boolean {
    return this.#held.session.isWaiting;
  }

  /** The time that the database may work has not run while others had their turn. */
  began(): void {
    this.#clock.restart();
  }

  /** The database has done what it was sent. */
  rest(): void {
    this.#clock.stop();
    this.#held.session.rest();
  }

  /** The database waits for the client in the middle of its work. */
  pause(): void {
    this.#isPaused = true;
    this.#clock.stop();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#clock.start();
    this.#held.session.resume();
  }

  /** Calls `onStall` unless the client takes something in time. */
  watchClient(limitMs: number, onStall: () => void): void {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(onStall, limitMs);
  }

  watchNobody(): void {
    clearTimeout(this.#waiting);
  }

  /** Cancels what runs. Calls `onDeaf` if that has no effect. */
  cancel(onDeaf: () => void): void {
    this.#clock.stop();
    this.#isCancelled = true;
    this.#held.session.cancel();
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(onDeaf, this.#limits.cancelMs);
  }

  /** Gives it back. @param isReady it is outside of a transaction and does nothing. */
  release(isReady: boolean): void {
    this.#clock.stop();
    clearTimeout(this.#waiting);
    // A cancel may arrive late, and must not meet the next statement.
    this.#held.release(isReady && !this.#isCancelled);
  }
}
