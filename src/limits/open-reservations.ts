import type { LimitStatus } from "../core/limit-status.ts";
import type { KeyCounters, MonthCounters } from "./key-counters.ts";
import type { Admission } from "./limits.ts";

export interface Reservation {
  readonly keyId: string;
  readonly key: KeyCounters;
  /** Of the month the call began in. */
  readonly month: MonthCounters;
  /** What `key` holds for the call. */
  readonly tokens: number;
  /** What the call may bring; undefined: no limit holds. */
  readonly outputTokens: number | undefined;
  readonly status: LimitStatus;
  /** By the clock that nobody can set, in milliseconds; no earlier than those opened before. */
  readonly expiresAt: number;
}

/** What the calls under way hold. */
export class OpenReservations {
  /** Oldest first. */
  readonly #open = new Set<Reservation>();
  readonly #onSettled: (reservation: Reservation) => void;

  /** @param onSettled called when what a call used is booked. */
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

  /** How many calls each key has under way. */
  callsByKey(): ReadonlyMap<string, number> {
    const calls = new Map<string, number>();
    for (const { keyId } of this.#open) calls.set(keyId, (calls.get(keyId) ?? 0) + 1);
    return calls;
  }

  /**
   * Gives back what is held by calls that lost their end: it would refuse others for good. What such a call used is
   * booked all the same should it still end. Returns how many there were.
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

/** A class for its cheapness: one object a call, no closures. */
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
