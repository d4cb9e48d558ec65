/** Consecutive failures after which a replica gets no calls. */
const FAILURES_TO_OPEN = 3;
/** The pause before one probe decides. */
const PAUSE_MS = 2_000;

/** `half-open`: one probe is in progress. `on-trial`: checks find it well, and a single call has to show that it answers. */
type BreakerState = "closed" | "open" | "half-open" | "on-trial";

/** A circuit breaker for one replica. Times are milliseconds of a monotonic clock. */
export class Breaker {
  #state: BreakerState = "closed";
  #failures = 0;
  /** How many of them were of health checks. */
  #failedChecks = 0;
  #probeAt = 0;
  /** Calls had no answer within their time, which no health check would find. */
  #isSilent = false;
  #hasTrial = false;

  /** True when the replica may get any calls. */
  get isClosed(): boolean {
    return this.#state === "closed";
  }

  get isOnTrial(): boolean {
    return this.#state === "on-trial";
  }

  /** True when the replica may get the next call. */
  get takesCall(): boolean {
    return this.isClosed || (this.isOnTrial && !this.#hasTrial);
  }

  /** Returns true for the call that is the trial. The caller must report its end. */
  beginsTrial(): boolean {
    if (!this.isOnTrial || this.#hasTrial) return false;
    this.#hasTrial = true;
    return true;
  }

  endTrial(): void {
    this.#hasTrial = false;
  }

  /** Records a success. Returns true when this closes the breaker. */
  succeeded(): boolean {
    const wasClosed = this.isClosed;
    this.#state = "closed";
    this.#failures = 0;
    this.#failedChecks = 0;
    this.#isSilent = false;
    return !wasClosed;
  }

  /** Records a good health check of a replica that gets no calls. Returns true when this closes the breaker. */
  foundWell(): boolean {
    if (!this.#isSilent) return this.succeeded();
    this.#state = "on-trial";
    return false;
  }

  /** Records a successful health check. It resets only the count of failed checks, not that of failed calls. */
  passedCheck(): void {
    this.#failures -= this.#failedChecks;
    this.#failedChecks = 0;
  }

  /** Records a failed health check, as `failed` does a call. */
  failedCheck(now: number, isDown: boolean): boolean {
    this.#failedChecks += 1;
    return this.failed(now, isDown);
  }

  /**
   * Records a failure. Returns true when this opens the breaker. `isDown`: nothing is listening, so one failure is
   * enough. `isSilent`: a call had no answer within its time.
   */
  failed(now: number, isDown: boolean, isSilent = false): boolean {
    const wasClosed = this.isClosed;
    this.#failures += 1;
    this.#isSilent ||= isSilent;
    if (wasClosed && !isDown && this.#failures < FAILURES_TO_OPEN) return false;
    this.#state = "open";
    this.#probeAt = now + PAUSE_MS;
    return wasClosed;
  }

  /** Returns true for the one probe allowed after the pause. The caller must report its outcome. */
  takesProbe(now: number): boolean {
    if (this.#state !== "open" || now < this.#probeAt) return false;
    this.#state = "half-open";
    return true;
  }
}
