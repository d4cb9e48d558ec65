import { ServiceError } from "../../core/service-error.ts";
import { Cancellation, type CancelSignal } from "../../lib/cancellation.ts";
import { type TimeWatcher, unwatchTime, watchTimeBy } from "../../lib/time/watch-time.ts";

export interface WatchOptions {
  /** Aborted when the client leaves. */
  readonly signal: CancelSignal;
  /** The total time limit of the call. */
  readonly timeoutMs: number;
  /** How long the engine may be silent during a read; undefined: as long as the call may take. */
  readonly idleTimeoutMs: number | undefined;
}

const ONCE = { once: true } as const;

/** Enforces the time limits of one upstream call. It polls when the engine was last heard, so that a token costs no timer. */
// A class: one object a call, and one signal for everything that waits.
export class CallWatch implements TimeWatcher {
  readonly #clientSignal: CancelSignal;
  /** Aborted when the client left, with its reason, or when time is up, with a `ServiceError`. */
  readonly signal = new Cancellation();
  readonly #timeoutMs: number;
  readonly #idleTimeoutMs: number | undefined;
  readonly #endsAt: number;
  #waitingSince: number | undefined;

  constructor({ signal, timeoutMs, idleTimeoutMs }: WatchOptions) {
    this.#clientSignal = signal;
    this.#timeoutMs = timeoutMs;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    if (signal.aborted) this.handleEvent();
    else signal.addEventListener("abort", this, ONCE);
    watchTimeBy(this);
  }

  /** Marks the start of a wait for the engine. */
  waiting(): void {
    this.#waitingSince = performance.now();
  }

  /** Marks that the engine sent something. Until the next `waiting` the gateway is not waiting for it. */
  heard(): void {
    this.#waitingSince = undefined;
  }

  /** Aborts the call with a reason of the gateway's own. */
  abort(reason: unknown): void {
    this.signal.abort(reason);
  }

  /** Must be called when the call is over. */
  close(): void {
    unwatchTime(this);
    this.#clientSignal.removeEventListener("abort", this);
  }

  /** The client has left. */
  handleEvent(): void {
    this.signal.abort(this.#clientSignal.reason);
  }

  look(now: number): void {
    const error = this.#overdue(now);
    if (error === undefined) return;
    unwatchTime(this);
    this.signal.abort(error);
  }

  #overdue(now: number): ServiceError | undefined {
    if (now >= this.#endsAt) return timedOut(`took longer than ${seconds(this.#timeoutMs)}`);
    const idleTimeoutMs = this.#idleTimeoutMs;
    if (idleTimeoutMs === undefined || this.#waitingSince === undefined) return undefined;
    if (now - this.#waitingSince < idleTimeoutMs) return undefined;
    return timedOut(`was silent for ${seconds(idleTimeoutMs)}`);
  }
}

function timedOut(what: string): ServiceError {
  return new ServiceError("upstream_timeout", `The model server ${what}.`);
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} seconds`;
}
