import type { LimitStatus } from "../core/limit-status.ts";
import type { KeyCounters, MonthCounters } from "./key-counters.ts";
import type { Admission } from "./limits.ts";

export interface Reservation {
  readonly keyId: string;
  readonly key: KeyCounters;
  /** The counters of the month in which the call began. */
  readonly month: MonthCounters;
  /** Tokens that `key` holds for the call. */
  readonly tokens: number;
  /** Output tokens that the call may spend; undefined without a limit. */
  readonly outputTokens: number | undefined;
  readonly status: LimitStatus;
  /** By the monotonic clock, in milliseconds; not earlier than those opened before. */
  readonly expiresAt: number;
}

/** The reservations of the calls in progress. */
export class OpenReservations {
  /** Oldest first. */
  readonly #open = new Set<Reservation>();
  readonly #onSettled: (reservation: Reservation) => void;

  /** @param onSettled called after a call's usage is counted. */
  constructor(onSettled: (reservation: Reservation) => void) {
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#open.size;
  }

  open(reservation: Reservation): Admission {
    reservation.key.hold(reservation.month, reservation.tokens);
    this.#open.add(reservation);
    return new OpenAdmission(reservation, this);
  }

  settle(reservation: Reservation, tokens: number): void {
    this.#release(reservation);
    reservation.key.book(reservation.month, tokens);
    this.#onSettled(reservation);
  }

  /** Returns the number of calls in progress per key. */
  callsByKey(): ReadonlyMap<string, number> {
    const calls = new Map<string, number>();
    for (const { keyId } of this.#open) calls.set(keyId, (calls.get(keyId) ?? 0) + 1);
    return calls;
  }

  /**
   * Releases the tokens of calls whose end was lost, which would otherwise refuse others permanently. If such a call
   * still ends, its usage is counted. Returns the number of released calls.
   */
  releaseExpired(now: number): number {
    let calls = 0;
    for (const reservation of this.#open) {
      if (reservation.expiresAt > now) break;
      this.#release(reservation);
      calls += 1;
    }
    return calls;
  }

  #release(reservation: Reservation): void {
    if (this.#open.delete(reservation))
      reservation.key.giveBack(reservation.month, reservation.tokens);
  }
}

/** A class for performance: one object per call, no closures. */
class OpenAdmission implements Admission {
  readonly #reservation: Reservation;
  readonly #keeper: OpenReservations;
  #isSettled = false;

  constructor(reservation: Reservation, keeper: OpenReservations) {
    this.#reservation = reservation;
    this.#keeper = keeper;
  }

  get outputTokens(): number | undefined {
    return this.#reservation.outputTokens;
  }

  get status(): LimitStatus {
    return this.#reservation.status;
  }

  settle(tokens: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#keeper.settle(this.#reservation, tokens);
  }
}
