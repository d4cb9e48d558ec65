import { constants } from "node:os";
import { STOP_SIGNALS, type StopSignal } from "./stop-signals.mjs";

/** A supervisor that signals a whole group, and the parent that passes its own signal on, ask once. */
const SAME_REQUEST_MS = 500;

/** Is told of each request to stop; `isFirst` until the listener was told once. */
export type StopListener = (signal: StopSignal, isFirst: boolean) => void;

/** The requests to stop this process, which come as signals. */
export class StopRequests {
  #listener: StopListener;
  #isFirst = true;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(listener: StopListener) {
    this.#listener = listener;
    for (const signal of STOP_SIGNALS) process.on(signal, () => this.#receive(signal));
  }

  /** Tells another listener from now on. */
  tell(listener: StopListener): void {
    this.#listener = listener;
    this.#isFirst = true;
  }

  #receive(signal: StopSignal): void {
    const now = performance.now();
    if (now - this.#countedAt < SAME_REQUEST_MS) return;
    // The time of the last request that counted, so that repeated Ctrl-C counts too.
    this.#countedAt = now;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#listener(signal, isFirst);
  }
}

/** The exit code of a process that a signal ended. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}
