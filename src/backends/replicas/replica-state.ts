import { ServiceError } from "../../core/service-error.ts";
import type { CancelSignal } from "../../lib/cancellation.ts";
import type { Log } from "../../lib/log.ts";
import type { Replica } from "./replica.ts";

export interface StateOptions {
  /** The number of replicas. */
  readonly count: number;
  readonly log: Log;
  readonly now: () => number;
}

/** Tracks from calls and checks which replicas work, and logs every change for the operator. */
export class ReplicaState {
  readonly #options: StateOptions;

  constructor(options: StateOptions) {
    this.#options = options;
  }

  /** A call has an answer. */
  succeeded(replica: Replica): void {
    this.#works(replica, replica.breaker.succeeded());
  }

  /** A health check of a replica that gets no calls found nothing. */
  foundWell(replica: Replica): void {
    this.#works(replica, replica.breaker.foundWell());
  }

  /** `isDown`: nothing is listening. `isSilent`: there was no answer within the call's time. */
  failed(replica: Replica, isDown: boolean, isSilent = false): void {
    const now = this.#options.now();
    if (replica.breaker.failed(now, isDown, isSilent)) this.#opened(replica, now);
  }

  /** A health check failed. `isDown`: the engine itself says so, or nothing is listening. */
  failedCheck(replica: Replica, isDown: boolean): void {
    const now = this.#options.now();
    if (replica.breaker.failedCheck(now, isDown)) this.#opened(replica, now);
  }

  /** A call's connection broke or was aborted. A client that left says nothing about the replica. */
  broke(replica: Replica, signal: CancelSignal, isDown = false): void {
    const isOurs =
      signal.reason instanceof ServiceError && signal.reason.code === "upstream_timeout";
    if (!signal.aborted || isOurs) this.failed(replica, isDown, isOurs);
  }

  #works(replica: Replica, isBack: boolean): void {
    if (isBack || replica.changedAt === undefined) replica.changedAt = this.#options.now();
    if (isBack) this.#tell("info", replica, "is back");
  }

  #opened(replica: Replica, now: number): void {
    replica.changedAt = now;
    this.#tell("warn", replica, "is down; its calls go to the others");
  }

  #tell(level: "info" | "warn", { position, host }: Replica, what: string): void {
    const { log, count } = this.#options;
    log[level]({ replica: position, host }, `model server ${position} of ${count} ${what}`);
  }
}
