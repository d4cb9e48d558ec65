import type { KeyLimits } from "../core/caller.ts";
import { WINDOW_MS } from "./limits.ts";
import type { KeyUse } from "./report.ts";

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

const FIRST_CAPACITY = 8;

/**
 * When the calls of the last 60 seconds were admitted, exact to the clock's millisecond. Calls of one millisecond share
 * an entry: so however many there are, no more than 60,000 entries are held. Times come in whole milliseconds and never
 * run backwards.
 */
export class CallWindow {
  /** A ring: its capacity is a power of two. */
  #times = new Float64Array(FIRST_CAPACITY);
  #counts = new Uint32Array(FIRST_CAPACITY);
  #oldest = 0;
  #entries = 0;
  #calls = 0;

  /** Calls in the 60 seconds that end with `now`. */
  callsAt(now: number): number {
    while (this.#entries > 0 && this.#time(0) <= now - WINDOW_MS) {
      this.#calls -= this.#count(0);
      this.#oldest = this.#place(1);
      this.#entries -= 1;
    }
    return this.#calls;
  }

  add(now: number): void {
    this.#calls += 1;
    if (this.#entries > 0 && this.#time(this.#entries - 1) === now) {
      const newest = this.#place(this.#entries - 1);
      this.#counts[newest] = this.#count(this.#entries - 1) + 1;
      return;
    }
    if (this.#entries === this.#times.length) this.#grow();
    const next = this.#place(this.#entries);
    this.#times[next] = now;
    this.#counts[next] = 1;
    this.#entries += 1;
  }

  /** Milliseconds until so many calls have left that one more is admitted under `limit`; 0 when it is already. */
  opensInMs(now: number, limit: number): number {
    let calls = this.callsAt(now);
    for (let entry = 0; entry < this.#entries; entry += 1) {
      if (calls < limit) return entry === 0 ? 0 : this.#time(entry - 1) + WINDOW_MS - now;
      calls -= this.#count(entry);
    }
    return this.emptiesInMs(now);
  }

  /** Milliseconds until all calls so far have left; 0 when they have already. */
  emptiesInMs(now: number): number {
    if (this.callsAt(now) === 0) return 0;
    return this.#time(this.#entries - 1) + WINDOW_MS - now;
  }

  #place(entry: number): number {
    return (this.#oldest + entry) & (this.#times.length - 1);
  }

  #time(entry: number): number {
    return this.#times[this.#place(entry)] ?? 0;
  }

  #count(entry: number): number {
    return this.#counts[this.#place(entry)] ?? 0;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const counts = new Uint32Array(times.length);
    for (let entry = 0; entry < this.#entries; entry += 1) {
      times[entry] = this.#time(entry);
      counts[entry] = this.#count(entry);
    }
    this.#times = times;
    this.#counts = counts;
    this.#oldest = 0;
  }
}

/** A calendar month, UTC; both in Unix milliseconds. The end is the next one's beginning. */
export interface UtcMonth {
  readonly beginsAt: number;
  readonly endsAt: number;
}

/** The month of a moment in Unix milliseconds. */
export function utcMonth(atMs: number): UtcMonth {
  const date = new Date(atMs);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return { beginsAt: Date.UTC(year, month, 1), endsAt: Date.UTC(year, month + 1, 1) };
}
