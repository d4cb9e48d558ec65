import type { KeyLimits } from "../core/caller.ts";
import { CallWindow } from "./call-window.ts";
import type { KeyUse } from "./key-use.ts";
import type { UtcMonth } from "./utc-month.ts";

/** More than a process lives through. */
const MONTHS_MAX = 24;

/** What the calls of one month used and hold. */
export interface MonthCounters {
  readonly beginsAt: number;
  tokens: number;
  reservedTokens: number;
}

/** A moment, by the clocks that the limits go by. */
export interface Moment {
  /** Unix milliseconds. */
  readonly now: number;
  /** By the clock that nobody can set. */
  readonly steadyNow: number;
  /** The month that is counted. */
  readonly month: UtcMonth;
}

/** What one key has used and what its calls under way hold. */
export class KeyCounters {
  requests = 0;
  tokens = 0;
  reservedTokens = 0;
  /** The monthly limit as of the last call. */
  monthlyLimit: number | null = null;
  #window: CallWindow | undefined;
  /** The newest first. Calls that began before midnight count to the old month, and a clock may be set back. */
  readonly #months: MonthCounters[] = [];

  month(beginsAt: number): MonthCounters {
    const newest = this.#months[0];
    if (newest?.beginsAt === beginsAt) return newest;
    return this.#months.find((held) => held.beginsAt === beginsAt) ?? this.#addMonth(beginsAt);
  }

  useAt({ now, steadyNow, month }: Moment, limits: KeyLimits): KeyUse {
    const perMinute = limits.requestsPerMinute;
    const window = perMinute === null ? undefined : this.#window;
    const counters = this.month(month.beginsAt);
    return {
      now,
      windowCalls: window?.callsAt(steadyNow) ?? 0,
      windowOpensInMs: window?.opensInMs(steadyNow, perMinute ?? 0) ?? 0,
      windowEmptiesInMs: window?.emptiesInMs(steadyNow) ?? 0,
      requests: this.requests,
      tokens: this.tokens,
      reservedTokens: this.reservedTokens,
      monthEndsAt: month.endsAt,
      monthTokens: counters.tokens,
      monthReservedTokens: counters.reservedTokens,
    };
  }

  /** Keeps tokens from other calls until they are given back. */
  hold(month: MonthCounters, tokens: number): void {
    this.reservedTokens += tokens;
    month.reservedTokens += tokens;
  }

  giveBack(month: MonthCounters, tokens: number): void {
    this.reservedTokens -= tokens;
    month.reservedTokens -= tokens;
  }

  /** Counts the tokens that a call used. */
  book(month: MonthCounters, tokens: number): void {
    // A figure that is no number would make every sum after it none, and such a sum exceeds no limit.
    const used = Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
    this.tokens += used;
    month.tokens += used;
  }

  /** A call is admitted. Only where a limit on calls a minute holds is its time kept. */
  addCall(steadyNow: number, limits: KeyLimits): void {
    this.requests += 1;
    this.monthlyLimit = limits.monthlyTokens;
    this.addToWindow(steadyNow, limits);
  }

  /** A call counts in the key's minute. */
  addToWindow(steadyNow: number, limits: KeyLimits): void {
    if (limits.requestsPerMinute === null) return;
    this.#window ??= new CallWindow();
    this.#window.add(steadyNow);
  }

  /** A call that a process before this one admitted. Its time comes in the order of times. */
  rememberCall(at: number): void {
    this.#window ??= new CallWindow();
    this.#window.add(at);
  }

  /** Gives back the memory of a window that nothing is in any more. */
  dropEmptyWindow(steadyNow: number): void {
    if (this.#window?.callsAt(steadyNow) === 0) this.#window = undefined;
  }

  #addMonth(beginsAt: number): MonthCounters {
    const added = { beginsAt, tokens: 0, reservedTokens: 0 };
    this.#months.push(added);
    this.#months.sort((one, other) => other.beginsAt - one.beginsAt);
    this.#months.splice(MONTHS_MAX);
    return added;
  }
}
