import { watchTime } from "../../lib/time/watch-time.ts";

/** A call that has lasted as long gets its start record, even if its client has received nothing yet. */
const START_AFTER_MS = 250;

interface Waiting {
  readonly call: LateStart;
  /** By `performance.now()`. */
  readonly dueAt: number;
}

export interface LateStart {
  readonly isClosed: boolean;
  readonly recordStart: () => void;
}

/**
 * The calls whose start is not recorded yet, in the order of their beginning. Most calls end before: what they need is
 * their end record, and a call that dies before it has sent nothing to its client.
 */
export class LateStarts {
  #waiting: Waiting[] = [];
  #stopWatching: (() => void) | undefined;

  add(call: LateStart): void {
    this.#waiting.push({ call, dueAt: performance.now() + START_AFTER_MS });
    this.#stopWatching ??= watchTime((now) => this.#look(now));
  }

  #look(now: number): void {
    const firstEarly = this.#waiting.findIndex(({ dueAt }) => dueAt > now);
    const due = this.#waiting.splice(0, firstEarly < 0 ? this.#waiting.length : firstEarly);
    for (const { call } of due) if (!call.isClosed) call.recordStart();
    if (this.#waiting.length > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }
}
