import type { KeyLimits } from "../core/callers/caller.ts";
import type { LimitStatus } from "../core/limit-status.ts";

/** A limit on calls holds in every window of 60 seconds, wherever it begins. */
export const WINDOW_MS = 60_000;

/** The limits of all keys and users, exact: usage never exceeds them, however many calls run at once. */
export interface Limits {
  /**
   * Admits a call in one atomic step over all limits of its key and the key's owner, and reserves what it may spend; a refused call is not
   * counted. Throws, or rejects with, a `ServiceError`: 429 that names the limit, or `storage_unavailable` while the
   * key's usage is unknown.
   */
  readonly admit: (call: LimitedCall) => Admission | Promise<Admission>;
  /**
   * Throws, or rejects with, the refusal that `admit` would give any call of the key, however small: one of its limits
   * is 0 or used up. Counts nothing. Does nothing where the usage is unknown, or where asking costs more than the call.
   */
  readonly refuseExhausted: (call: EarlyCall) => Promise<void> | undefined;
  /**
   * Admits a call that uses neither tokens nor one of the key's requests, and counts it only in the key's minute.
   * Throws, or rejects, as `admit` does.
   */
  readonly countInMinute: (call: EarlyCall) => Promise<void> | undefined;
  /**
   * Counts a finished call of a key that had no limits when it began, so that limits set later include it. Never
   * throws.
   * @param startedAt Unix milliseconds; determines the month.
   * @param tokens the tokens charged: input and output, or more where they were not counted.
   * @param ownerId the key's owner, whose month includes them.
   */
  readonly book: (keyId: string, startedAt: number, tokens: number, ownerId?: string) => void;
  /** Counts a finished call of a session whose user had no limits when it began. Never throws. */
  readonly bookSession: (userId: string, startedAt: number, tokens: number) => void;
  /** Reads what a key has used and has left, open reservations included. Rejects with `storage_unavailable`. */
  readonly read: (keyId: string, limits: KeyLimits | null, now: number) => Promise<LimitReport>;
  /**
   * Counts the calls of a lost process, each once, while `store` inserts their rows into the database. A batch whose
   * `store` failed may be given again. Rejects when the database is unavailable, or as `store` does.
   */
  readonly settleLost: (calls: readonly LostCall[], store: () => Promise<void>) => Promise<void>;
  /**
   * Called once, at start: calls are admitted after `isKnown` has settled, which means that the usage of lost processes
   * has reached `settleLost`. It never rejects.
   */
  readonly start: (isKnown: Promise<void>) => void;
  /**
   * Reads what another process has stored in the meantime, after all usage of this process is stored, and at the start
   * what a killed one has. Rejects when the database is unavailable. Undefined where all processes count in one place.
   */
  readonly recount?: () => Promise<void>;
  /** Returns the number of this process's calls that hold a reservation. */
  readonly openReservations: () => number;
  readonly close: () => Promise<void>;
}

export interface LimitedCall {
  /** The request id, which names the reservation. */
  readonly id: string;
  /** The key, or the user of a session. */
  readonly keyId: string;
  /** The limits of the key, or of the user of a session. */
  readonly limits: KeyLimits;
  /** The owner of the key, whose month includes the call. */
  readonly ownerId?: string | undefined;
  /** The owner's limits, which must admit the call as well. */
  readonly ownerLimits?: KeyLimits | undefined;
  /** True for a call of a session: its tokens are stored for the user's limit only. */
  readonly isSession?: boolean | undefined;
  /** Unix milliseconds; determines the month that the call counts to. */
  readonly startedAt: number;
  /** The prompt's tokens, an upper bound. */
  readonly inputTokens: number;
  /** Output tokens asked for; 0 for a call without output. Fewer are granted where fewer remain. */
  readonly outputTokens: number;
  /**
   * If refused for its tokens, the call tries again with a closer bound, so observers do not learn of the first
   * refusal.
   */
  readonly asksAgain?: boolean;
}

/** Whose limits a call must keep. */
export type LimitedSubject = Pick<
  LimitedCall,
  "keyId" | "limits" | "ownerId" | "ownerLimits" | "isSession"
>;

/** A call of which only the headers are known. */
export interface EarlyCall extends Pick<LimitedCall, "id" | "startedAt" | keyof LimitedSubject> {
  /** Its body is long, which justifies a check of limits that are counted elsewhere. */
  readonly isLarge: boolean;
}

export interface Admission {
  /** Output tokens that the call may spend, at least 1 where it asked for any; undefined without a limit on tokens. */
  readonly outputTokens: number | undefined;
  readonly status: LimitStatus;
  /**
   * Reserves further tokens for the same call in one atomic step over the key's limits on tokens; the call is not
   * counted again. Returns how many tokens were added: those asked for, or what remains. Throws, or rejects with, the
   * 429 of the limit that leaves fewer than `least`, or `storage_unavailable`; then nothing is added.
   */
  readonly extend: (tokens: number, least: number) => number | Promise<number>;
  /** Releases the reservation and counts the tokens charged. Later calls do nothing. Never throws. */
  readonly settle: (tokens: number) => void;
  /**
   * Takes back a call that was refused after its admission, so that it counts towards no limit, and releases the
   * reservation. Does nothing after `settle`, nor does `settle` after this. Never throws.
   */
  readonly cancel: () => void;
}

/** A call of a lost process, from its journal. */
export interface LostCall {
  /** The request id. */
  readonly id: string;
  readonly keyId: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Charged: input, output and extra charge. */
  readonly tokens: number;
}

/** A key's usage, with one entry for each of its limits. */
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
  /** Held by calls in progress. */
  readonly reserved: number;
  /** Never below 0. */
  readonly remaining: number;
  /** When all of it is available again, in Unix milliseconds; null: never. */
  readonly resetsAt: number | null;
}

/** Stores the tokens of a finished session call, for the user's limit after a restart. Never throws. */
export type StoreSession = (userId: string, startedAt: number, tokens: number) => void;

/**
 * Receives the monthly usage of keys, on the replica that counts it. Must be quick and never throw. Only the current
 * month is reported: a call that settles after its month has ended is not.
 */
export interface MonthlyUseObserver {
  /**
   * Called after each settle of a key that has a monthly limit.
   * @param settledTokens of the month; tokens held by calls in progress are not included.
   * @param limit the key's present monthly limit.
   */
  readonly onMonthUse: (keyId: string, settledTokens: number, limit: number) => void;
  /**
   * Called when the monthly limit refused a call that it would also refuse with no other call in progress. A refusal
   * that ends when reservations are released is not reported.
   */
  readonly onMonthlyRefusal: (keyId: string, settledTokens: number, limit: number) => void;
}
