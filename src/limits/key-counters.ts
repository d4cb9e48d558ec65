import type { KeyLimits } from "../core/callers/caller.ts";
import { WINDOW_MS } from "./limits.ts";
import type { KeyUse } from "./report.ts";

/** More months than any process runs. */
const MONTHS_MAX = 24;

/** Tokens that the calls of one month have used and hold. */
export interface MonthCounters {
  readonly beginsAt: number;
  tokens: number;
  reservedTokens: number;
}

/** A moment, by the clocks that the limits use. */
export interface Moment {
  /** Unix milliseconds. */
  readonly now: number;
  /** By the monotonic clock. */
  readonly steadyNow: number;
  /** The month that counts. */
  readonly month: UtcMonth;
}

/** The usage of one key, and what its calls in progress hold. */
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

  /** Reserves tokens, or releases them when there are fewer than 0. */
  hold(month: MonthCounters, tokens: number): void {
    this.reservedTokens += tokens;
    month.reservedTokens += tokens;
  }

  /** Counts the tokens that a call used. */
  book(month: MonthCounters, tokens: number): void {
    // A NaN would make every later sum NaN, which exceeds no limit.
    const used = Number.isFinite(tokens) ? Math.max(0, tokens) : 0;
    this.tokens += used;
    month.tokens += used;
  }

  /** Counts an admitted call. Its time is kept only where a limit on calls per minute holds. */
  addCall(steadyNow: number, limits: KeyLimits): void {
    this.requests += 1;
    this.monthlyLimit = limits.monthlyTokens;
    this.addToWindow(steadyNow, limits);
  }

  /** Counts a call in the key's minute. */
  addToWindow(steadyNow: number, limits: KeyLimits): void {
    if (limits.requestsPerMinute === null) return;
    this.#window ??= new CallWindow();
    this.#window.add(steadyNow);
  }

  /** Takes back a call that was refused after it was counted. */
  takeBackCall(admittedAt: number, limits: KeyLimits): void {
    this.requests -= 1;
    if (limits.requestsPerMinute !== null) this.#window?.remove(admittedAt);
  }

  /** Adds a call that an earlier process admitted. Times must be added in order. */
  rememberCall(at: number): void {
    this.#window ??= new CallWindow();
    this.#window.add(at);
  }

  /** Frees the memory of an empty window. */
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
 * The times at which the calls of the last 60 seconds were admitted, exact to the millisecond. Calls of one millisecond
 * share an entry, so there are never more than 60,000 entries. Times are whole milliseconds and never decrease.
 */
export class CallWindow {
  /** A ring buffer: its capacity is a power of two. */
  #times = new Float64Array(FIRST_CAPACITY);
  #counts = new Uint32Array(FIRST_CAPACITY);
  #oldest = 0;
  #entries = 0;
  #calls = 0;

  /** Returns the number of calls in the 60 seconds that end with `now`. */
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

  /** Removes one of the calls of that millisecond, unless all of them have left. */
  remove(at: number): void {
    const entry = this.#find(at);
    const isHere = entry < this.#entries && this.#time(entry) === at;
    if (!isHere || this.#count(entry) === 0) return;
    this.#counts[this.#place(entry)] = this.#count(entry) - 1;
    this.#calls -= 1;
    // The last entry tells when the window empties, so it must have a call. Others may be empty until they leave.
    while (this.#entries > 0 && this.#count(this.#entries - 1) === 0) this.#entries -= 1;
  }

  /**
   * Returns the milliseconds until enough calls have left that one more is admitted under `limit`; 0 when it is
   * already.
   */
  opensInMs(now: number, limit: number): number {
    let calls = this.callsAt(now);
    for (let entry = 0; entry < this.#entries; entry += 1) {
      if (calls < limit) return entry === 0 ? 0 : this.#time(entry - 1) + WINDOW_MS - now;
      calls -= this.#count(entry);
    }
    return this.emptiesInMs(now);
  }

  /** Returns the milliseconds until all calls so far have left; 0 when they have already. */
  emptiesInMs(now: number): number {
    if (this.callsAt(now) === 0) return 0;
    return this.#time(this.#entries - 1) + WINDOW_MS - now;
  }

  /** Returns the last entry whose time is not later, or the first one. */
  #find(at: number): number {
    let first = 0;
    let end = this.#entries;
    while (end - first > 1) {
      const middle = (first + end) >> 1;
      if (this.#time(middle) <= at) first = middle;
      else end = middle;
    }
    return first;
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

/** A calendar month, UTC; both in Unix milliseconds. The end is the beginning of the next month. */
export interface UtcMonth {
  readonly beginsAt: number;
  readonly endsAt: number;
}

/** Returns the month of a moment in Unix milliseconds. */
export function utcMonth(atMs: number): UtcMonth {
  const date = new Date(atMs);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return { beginsAt: Date.UTC(year, month, 1), endsAt: Date.UTC(year, month + 1, 1) };
}
