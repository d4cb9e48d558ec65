import type { KeyLimits } from "../core/caller.ts";
import type { LimitStatus } from "../core/limit-status.ts";

/** A limit on calls holds in every 60 seconds, wherever they begin. */
export const WINDOW_MS = 60_000;

/** The limits of all keys, exact: what is spent never exceeds them, however many calls run at once. */
export interface Limits {
  /**
   * Admits a call in one atomic step over all limits of its key, and reserves what it may spend; a refused call
   * counts nowhere. Throws, or rejects with, a `ServiceError`: 429 that names the limit, or `storage_unavailable`
   * while what the key has used is not known.
   */
  readonly admit: (call: LimitedCall) => Admission | Promise<Admission>;
  /**
   * Throws, or rejects with, what `admit` would refuse any call of the key with, however small: one of its limits is 0
   * or used up. Counts nothing, and says nothing where it is not known or where to ask costs more than the call.
   */
  readonly refuseExhausted: (call: EarlyCall) => Promise<void> | undefined;
  /**
   * Admits a call that uses neither tokens nor one of the key's requests, and counts it in the key's minute alone.
   * Throws, or rejects, as `admit` does.
   */
  readonly countInMinute: (call: EarlyCall) => Promise<void> | undefined;
  /**
   * Counts a finished call of a key that had no limits when it began, so that limits set later count it too.
   * Never throws.
   *
   * @param startedAt Unix milliseconds; it says the month.
   * @param tokens input and output.
   */
  readonly book: (keyId: string, startedAt: number, tokens: number) => void;
  /** What a key has used and has left, open reservations included. Rejects with `storage_unavailable`. */
  readonly read: (keyId: string, limits: KeyLimits | null, now: number) => Promise<LimitReport>;
  /**
   * Counts the calls of a process that died, each once, while `store` brings their rows into the database. A batch
   * whose `store` failed may be given again. Rejects when the database is away, or as `store` does.
   */
  readonly settleLost: (calls: readonly LostCall[], store: () => Promise<void>) => Promise<void>;
  /**
   * Called once, at start: calls are admitted when `isKnown` has settled, that is when what lost processes used
   * has come to `settleLost`. It never rejects.
   */
  readonly start: (isKnown: Promise<void>) => void;
  /**
   * Takes in what another process has brought into the database meanwhile, once all that was used here is there.
   * Rejects when the database is away. Undefined where all processes count in one place.
   */
  readonly recount?: () => Promise<void>;
  /** How many calls of this process hold a reservation. */
  readonly openReservations: () => number;
  readonly close: () => Promise<void>;
}

export interface LimitedCall {
  /** The request id: the reservation's name. */
  readonly id: string;
  readonly keyId: string;
  readonly limits: KeyLimits;
  /** Unix milliseconds; it says the month that the call counts to. */
  readonly startedAt: number;
  /** The prompt's tokens, an upper bound. */
  readonly inputTokens: number;
  /** Output tokens asked for; 0 for a call that brings none. Fewer are granted where fewer remain. */
  readonly outputTokens: number;
  /** Refused for its tokens, the call asks again with a closer bound: nobody is told of the first refusal. */
  readonly asksAgain?: boolean;
}

/** A call of which only its headers are known. */
export interface EarlyCall extends Pick<LimitedCall, "id" | "keyId" | "limits" | "startedAt"> {
  /** Its body is long, so that it is worth a look at limits that are counted elsewhere. */
  readonly isLarge: boolean;
}

export interface Admission {
  /** Output tokens that the call may spend, at least 1 where it asked for any; undefined when no limit on tokens holds. */
  readonly outputTokens: number | undefined;
  readonly status: LimitStatus;
  /** Gives back what was reserved and books what was used: input and output tokens. Later calls do nothing. Never throws. */
  readonly settle: (tokens: number) => void;
}

/** A call of a process that died, as its journal tells it. */
export interface LostCall {
  /** The request id. */
  readonly id: string;
  readonly keyId: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Input and output. */
  readonly tokens: number;
}

/** Where a key stands, one entry a limit that it has. */
export interface LimitReport {
  readonly requestsPerMinute?: LimitUse;
  readonly requests?: LimitUse;
  readonly tokens?: LimitUse;
  readonly monthlyTokens?: LimitUse;
}

export interface LimitUse {
  readonly limit: number;
  /** Settled use. */
  readonly used: number;
  /** Held by calls under way. */
  readonly reserved: number;
  /** Never below 0. */
  readonly remaining: number;
  /** When all of it is there again, in Unix milliseconds; null: never. */
  readonly resetsAt: number | null;
}

/**
 * Told what keys use of their months, by the replica that sees it. Quick, and never throws. Only the month of now
 * counts: a call that is settled after the month it counts to has ended is not told of.
 */
export interface MonthlyUseObserver {
  /**
   * After each settle of a key that has a monthly limit.
   *
   * @param settledTokens of the month; what calls under way hold is no use yet.
   * @param limit the key's monthly limit, as it is now.
   */
  readonly onMonthUse: (keyId: string, settledTokens: number, limit: number) => void;
  /**
   * A call was refused by the monthly limit and would have been with no other call under way. A refusal that passes
   * when reservations come back is not told of.
   */
  readonly onMonthlyRefusal: (keyId: string, settledTokens: number, limit: number) => void;
}
