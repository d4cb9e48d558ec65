import type { LimitStatus } from "../core/limit-status.ts";
import { ServiceError } from "../core/service-error.ts";
import type { KeyCounters, MonthCounters } from "./key-counters.ts";
import type { Admission, LimitedCall } from "./limits.ts";

export interface Reservation {
  readonly keyId: string;
  readonly call: LimitedCall;
  readonly key: KeyCounters;
  /** The counters of the month in which the call began. */
  readonly month: MonthCounters;
  /** The counters of the key's owner, and those of the same month. */
  readonly owner: KeyCounters | undefined;
  readonly ownerMonth: MonthCounters | undefined;
  /** Tokens that `key` and `owner` hold for the call. */
  tokens: number;
  /** Output tokens that the call may spend; undefined without a limit. */
  readonly outputTokens: number | undefined;
  readonly status: LimitStatus;
  /** By the clock of the counters' windows, in milliseconds; not earlier than those opened before. */
  readonly admittedAt: number;
}

/** What the limits do with a reservation. */
interface ReservationRules {
  /** Called after a call's usage is counted. */
  readonly onSettled: (reservation: Reservation, tokens: number) => void;
  /** Returns how many of the further tokens a call gets. Throws the refusal of a limit. */
  readonly grant: (reservation: Reservation, tokens: number, least: number) => number;
}

/** The reservations of the calls in progress. */
export class OpenReservations {
  /** Oldest first. */
  readonly #open = new Set<Reservation>();
  readonly #rules: ReservationRules;

  constructor(rules: ReservationRules) {
    this.#rules = rules;
  }

  get size(): number {
    return this.#open.size;
  }

  open(reservation: Reservation): Admission {
    hold(reservation, reservation.tokens);
    this.#open.add(reservation);
    return new OpenAdmission(reservation, this);
  }

  /** Synchronous: nothing else runs between the grant and the hold. */
  extend(reservation: Reservation, tokens: number, least: number): number {
    if (!this.#open.has(reservation)) throw reservationOver();
    const granted = this.#rules.grant(reservation, tokens, least);
    hold(reservation, granted);
    reservation.tokens += granted;
    return granted;
  }

  settle(reservation: Reservation, tokens: number): void {
    this.#release(reservation);
    const { key, month, owner, ownerMonth } = reservation;
    key.book(month, tokens);
    if (ownerMonth !== undefined) owner?.book(ownerMonth, tokens);
    this.#rules.onSettled(reservation, tokens);
  }

  /** The call counts no longer. It is not told to `onSettled`, because it used nothing. */
  cancel(reservation: Reservation): void {
    this.#release(reservation);
    const { key, owner, call, admittedAt } = reservation;
    key.takeBackCall(admittedAt, call.limits);
    if (call.ownerLimits !== undefined) owner?.takeBackCall(admittedAt, call.ownerLimits);
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
   * @param admittedUntil the time of admission of the latest such call.
   */
  releaseExpired(admittedUntil: number): number {
    let calls = 0;
    for (const reservation of this.#open) {
      if (reservation.admittedAt > admittedUntil) break;
      this.#release(reservation);
      calls += 1;
    }
    return calls;
  }

  #release(reservation: Reservation): void {
    if (this.#open.delete(reservation)) hold(reservation, -reservation.tokens);
  }
}

/** Reserves further tokens of the key and its owner, or returns them when there are fewer than 0. */
function hold({ key, month, owner, ownerMonth }: Reservation, tokens: number): void {
  key.hold(month, tokens);
  if (ownerMonth !== undefined) owner?.hold(ownerMonth, tokens);
}

/** The error of a call that asks for further tokens after its reservation was settled or has expired. */
export function reservationOver(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "The tokens reserved for this call were released because it took too long. Try again.",
  );
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

  extend(tokens: number, least: number): number {
    return this.#keeper.extend(this.#reservation, tokens, least);
  }

  settle(tokens: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#keeper.settle(this.#reservation, tokens);
  }

  cancel(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#keeper.cancel(this.#reservation);
  }
}
