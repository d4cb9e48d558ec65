import type { Admission } from "../../principal.ts";
import { ConnectionRefusal } from "./connection-refusal.ts";
import type { PortClock } from "./port-clock.ts";

const FAILURES_MAX = 5;
const WINDOW_MS = 60_000;
/** Networks that are remembered. */
const NETWORKS_MAX = 10_000;
/** The code of a wrong key, which counts. What the server cannot answer does not. */
const WRONG_KEY = "28P01";

interface Attempts {
  failures: number;
  /** When the failures are forgotten, Unix milliseconds. */
  until: number;
  inFlight: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits wrong keys to five a minute from one network. An attempt in flight counts as a failure until it is answered, so
 * that attempts at once cannot outrun the count; more of them wait.
 */
export class LoginBrake {
  readonly #clock: PortClock;
  /** In the order of their windows. */
  readonly #networks = new Map<string, Attempts>();

  constructor(clock: PortClock) {
    this.#clock = clock;
  }

  /** Runs a check as one attempt. Rejects with a ConnectionRefusal, without the check, after too many failures. */
  async attempt(
    network: string,
    check: () => Promise<Admission>,
    signal: AbortSignal,
  ): Promise<Admission> {
    const attempts = this.#of(network);
    if (this.#mayStart(attempts)) attempts.inFlight += 1;
    else {
      this.#refuseAfterFailures(attempts);
      // Whoever wakes this attempt has counted it as in flight.
      await new Promise<void>((resolve) => attempts.waiting.push(resolve));
    }
    let isFailure = false;
    try {
      this.#refuseAfterFailures(attempts);
      signal.throwIfAborted();
      const admission = await check();
      isFailure = admission.refusal?.code === WRONG_KEY;
      return admission;
    } finally {
      attempts.inFlight -= 1;
      if (isFailure) this.#count(network, attempts);
      this.#wake(attempts);
      this.#forget(network, attempts);
    }
  }

  #mayStart({ failures, inFlight, waiting }: Attempts): boolean {
    return waiting.length === 0 && failures + inFlight < FAILURES_MAX;
  }

  #refuseAfterFailures({ failures, until }: Attempts): void {
    if (failures < FAILURES_MAX) return;
    const seconds = Math.max(1, Math.ceil((until - this.#clock.now()) / 1000));
    throw new ConnectionRefusal(
      WRONG_KEY,
      `Too many logins with a wrong key from this address. Try again in ${seconds} seconds.`,
      "Use a key that begins with bk- as the password.",
    );
  }

  #of(network: string): Attempts {
    const known = this.#networks.get(network);
    if (known === undefined) {
      const attempts: Attempts = { failures: 0, until: 0, inFlight: 0, waiting: [] };
      this.#networks.set(network, attempts);
      this.#makeRoom();
      return attempts;
    }
    if (known.failures > 0 && known.until <= this.#clock.now()) known.failures = 0;
    return known;
  }

  #count(network: string, attempts: Attempts): void {
    if (attempts.failures === 0) {
      attempts.until = this.#clock.now() + WINDOW_MS;
      this.#networks.delete(network);
      this.#networks.set(network, attempts);
    }
    attempts.failures += 1;
  }

  /** Lets those go on that wait: as many as may start, or all when they will be refused. */
  #wake(attempts: Attempts): void {
    const isOver = attempts.failures >= FAILURES_MAX;
    while (isOver || attempts.failures + attempts.inFlight < FAILURES_MAX) {
      const next = attempts.waiting.shift();
      if (next === undefined) return;
      attempts.inFlight += 1;
      next();
    }
  }

  #forget(network: string, { failures, inFlight }: Attempts): void {
    if (failures === 0 && inFlight === 0) this.#networks.delete(network);
  }

  /** Drops the oldest window, first one that does not refuse: a flood of addresses must not free those that wait. */
  #makeRoom(): void {
    if (this.#networks.size <= NETWORKS_MAX) return;
    let oldest: string | undefined;
    for (const [network, { failures, until, inFlight }] of this.#networks) {
      if (failures === 0 || inFlight > 0) continue;
      oldest ??= network;
      if (failures === FAILURES_MAX && until > this.#clock.now()) continue;
      oldest = network;
      break;
    }
    if (oldest !== undefined) this.#networks.delete(oldest);
  }
}
