import type { KeyLimits } from "../core/callers/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import { within } from "../lib/time/within.ts";
import { LostCalls, RecentCalls } from "./before-start.ts";
import { extendedCall, findRefusal, grantOutput, type Refusal, tokensLeft } from "./judge.ts";
import type { KeyCounters, Moment } from "./key-counters.ts";
import { limitRefusal } from "./limit-refusal.ts";
import type {
  Admission,
  EarlyCall,
  LimitedCall,
  LimitReport,
  Limits,
  LostCall,
  MonthlyUseObserver,
  StoreSession,
} from "./limits.ts";
import { OpenReservations, type Reservation } from "./open-reservations.ts";
import { type CallUse, reportOf, statusOfCall, useWithCall } from "./report.ts";
import { readDeletedKeys, UsageCounters } from "./usage-counters.ts";

/** How far a call may exceed its timeout before its end counts as lost. */
const EXPIRY_GRACE_MS = 60_000;
const SWEEP_INTERVAL_MS = 30_000;
const FORGET_INTERVAL_MS = 3_600_000;
/** A call without known tokens is judged by a single token. */
const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };

export interface MemoryLimitsOptions {
  readonly database: Pick<Database, "db">;
  readonly clock: Clock;
  readonly log: Log;
  /** Timeout of a whole call. */
  readonly callTimeoutMs: number;
  /** DB_POOL_WAIT_MS: how long a call waits while its key's usage is unknown. */
  readonly waitMs: number;
  readonly observer: MonthlyUseObserver;
  /** Absent where no sessions call models. */
  readonly storeSession?: StoreSession;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  /** Throws while tokens must not be granted, because another process counts on its own. */
  readonly requireSafe?: () => void;
}

/**
 * Opens the limits of a single gateway, in its memory, starting from the usage of keys in the database. Must be opened
 * before the first call and before the journals of lost processes are replayed: from then on all usage passes through
 * here.
 */
export async function openMemoryLimits(options: MemoryLimitsOptions): Promise<Limits> {
  const counters = new UsageCounters();
  const recent = new RecentCalls();
  const { clock, database } = options;
  await counters.load(database.db, clock.now());
  await recent.load(database.db, clock.now());
  return new MemoryLimits(options, counters, recent);
}

class MemoryLimits implements Limits {
  readonly #options: MemoryLimitsOptions;
  readonly #counters: UsageCounters;
  readonly #recent: RecentCalls;
  readonly #lost: LostCalls;
  readonly #steady: Clock;
  readonly #open = new OpenReservations({
    onSettled: (reservation, tokens) => this.#tellSettled(reservation, tokens),
    grant: (reservation, tokens, least) => this.#grant(reservation, tokens, least),
  });
  readonly #timers: readonly NodeJS.Timeout[];
  #known: Promise<void> = new Promise(() => undefined);
  #isKnown = false;

  constructor(options: MemoryLimitsOptions, counters: UsageCounters, recent: RecentCalls) {
    this.#options = options;
    this.#counters = counters;
    this.#recent = recent;
    this.#lost = new LostCalls(options.database.db, counters, recent);
    this.#steady = createSteadyClock(options.clock, options.monotonic);
    this.#timers = [
      setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref(),
      setInterval(() => void this.#forgetDeleted(), FORGET_INTERVAL_MS).unref(),
    ];
  }

  start(isKnown: Promise<void>): void {
    this.#known = isKnown.then(() => {
      this.#recent.pourInto(this.#counters, this.#steady.now());
      this.#isKnown = true;
    });
  }

  admit(call: LimitedCall): Admission | Promise<Admission> {
    return this.#isKnown ? this.#admit(call) : this.#untilKnown().then(() => this.#admit(call));
  }

  refuseExhausted(call: EarlyCall): undefined {
    if (this.#isKnown) this.#judge({ ...call, ...NO_TOKENS });
  }

  countInMinute(call: EarlyCall): Promise<void> | undefined {
    if (!this.#isKnown) return this.#untilKnown().then(() => this.countInMinute(call));
    const { key, owner, moment } = this.#judge({ ...call, ...NO_TOKENS });
    key.addToWindow(moment.steadyNow, call.limits);
    if (call.ownerLimits !== undefined) owner?.addToWindow(moment.steadyNow, call.ownerLimits);
    return undefined;
  }

  book(keyId: string, startedAt: number, tokens: number, ownerId?: string): void {
    this.#counters.book(keyId, startedAt, tokens);
    if (ownerId !== undefined) this.#counters.book(ownerId, startedAt, tokens);
  }

  bookSession(userId: string, startedAt: number, tokens: number): void {
    this.#counters.book(userId, startedAt, tokens);
    this.#options.storeSession?.(userId, startedAt, tokens);
  }

  async read(keyId: string, limits: KeyLimits | null, now: number): Promise<LimitReport> {
    if (limits === null) return {};
    await this.#untilKnown();
    const month = this.#counters.monthOf(now);
    const moment = { now, steadyNow: this.#steady.now(), month };
    return reportOf(limits, this.#counters.peek(keyId).useAt(moment, limits));
  }

  settleLost(calls: readonly LostCall[], store: () => Promise<void>): Promise<void> {
    return this.#lost.settle(calls, store);
  }

  async recount(): Promise<void> {
    const { clock, database } = this.#options;
    await this.#counters.raise(database.db, clock.now(), () => this.#open.callsByKey());
    await this.#recent.load(database.db, clock.now());
  }

  openReservations(): number {
    return this.#open.size;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Synchronous: nothing else runs between the judgement and the counting. */
  #admit(call: LimitedCall): Admission {
    const { keyId, limits, ownerLimits } = call;
    const { key, owner, moment, use } = this.#judge(call);
    const { month } = moment;
    const outputTokens = grantOutput(call, use);
    // Tokens are held even without a limit on tokens, because one may be set while the call runs.
    const tokens = call.inputTokens + (outputTokens ?? call.outputTokens);
    key.addCall(moment.steadyNow, limits);
    if (ownerLimits !== undefined) owner?.addCall(moment.steadyNow, ownerLimits);
    return this.#open.open({
      keyId,
      call,
      key,
      month: key.month(month.beginsAt),
      owner,
      ownerMonth: owner?.month(month.beginsAt),
      tokens,
      outputTokens,
      status: statusOfCall(call, {
        own: useWithCall(use.own, tokens),
        owner: use.owner && useWithCall(use.owner, tokens),
      }),
      admittedAt: moment.steadyNow,
    });
  }

  /** Returns the usage of the call's key and its owner when their limits admit the call. Throws otherwise. */
  #judge(call: LimitedCall): {
    readonly key: KeyCounters;
    readonly owner: KeyCounters | undefined;
    readonly moment: Moment;
    readonly use: CallUse;
  } {
    const { keyId, ownerId } = call;
    const moment = this.#momentOf(call);
    const key = this.#counters.of(keyId);
    // The owner's calls are counted without limits too, for limits that are set later.
    const owner = ownerId === undefined ? undefined : this.#counters.of(ownerId);
    const use = useOf(call, moment, { key, owner });
    const refusal = findRefusal(call, use);
    if (refusal === undefined) return { key, owner, moment, use };
    const isHeld = refusal.holds === "while-reserved";
    if (isHeld && this.#releaseExpired()) return this.#judge(call);
    this.#tellRefused(refusal, call, use);
    throw limitRefusal(refusal, call, use);
  }

  #momentOf({ startedAt }: LimitedCall): Moment {
    const month = this.#counters.monthOf(startedAt);
    return { now: this.#options.clock.now(), steadyNow: this.#steady.now(), month };
  }

  /** Returns how many of the further tokens the limits admit. Throws when they admit fewer than `least`. */
  #grant(reservation: Reservation, tokens: number, least: number): number {
    this.#options.requireSafe?.();
    const { call, tokens: held } = reservation;
    const use = useOf(call, this.#momentOf(call), reservation);
    const left = Math.max(0, tokensLeft(call, use));
    if (left >= least) return Math.min(tokens, left);
    const extended = extendedCall(call, use, { held, least });
    const refusal = findRefusal(extended.call, extended.use);
    if (refusal === undefined || (refusal.holds === "while-reserved" && this.#releaseExpired()))
      return this.#grant(reservation, tokens, least);
    this.#tellRefused(refusal, extended.call, use);
    const { limits, ownerLimits } = call;
    throw limitRefusal(refusal, { ...extended.call, limits, ownerLimits }, extended.use);
  }

  /** Observers learn of keys only. */
  #tellRefused({ limit, holds, isOwners }: Refusal, call: LimitedCall, { own }: CallUse): void {
    const { keyId, limits, isSession } = call;
    if (limit !== "monthlyTokens" || holds === "while-reserved") return;
    if (isOwners === true || isSession === true) return;
    if (own.now < own.monthEndsAt && call.asksAgain !== true)
      this.#options.observer.onMonthlyRefusal(keyId, own.monthTokens, limits.monthlyTokens ?? 0);
  }

  #tellSettled({ keyId, key, month, call }: Reservation, tokens: number): void {
    const { clock, observer, storeSession } = this.#options;
    if (call.isSession === true) {
      storeSession?.(keyId, call.startedAt, tokens);
      return;
    }
    const isOfNow = month.beginsAt === this.#counters.monthOf(clock.now()).beginsAt;
    if (key.monthlyLimit === null || !isOfNow) return;
    observer.onMonthUse(keyId, month.tokens, key.monthlyLimit);
  }

  #untilKnown(): Promise<void> {
    return within(this.#known, this.#options.waitMs, usageUnknown);
  }

  #sweep(): void {
    this.#releaseExpired();
    this.#counters.dropEmptyWindows(this.#steady.now());
  }

  /** Not by the system's clock: setting it forward would release tokens that calls in progress still spend. */
  #releaseExpired(): boolean {
    const heldMs = this.#options.callTimeoutMs + EXPIRY_GRACE_MS;
    const calls = this.#open.releaseExpired(this.#steady.now() - heldMs);
    if (calls > 0)
      this.#options.log.warn({ calls }, "the reservations of calls that never ended were released");
    return calls > 0;
  }

  async #forgetDeleted(): Promise<void> {
    try {
      this.#counters.forget(await readDeletedKeys(this.#options.database.db));
    } catch {
      // The next round deletes them.
    }
  }
}

function useOf(
  { limits, ownerLimits }: LimitedCall,
  moment: Moment,
  { key, owner }: { readonly key: KeyCounters; readonly owner: KeyCounters | undefined },
): CallUse {
  const own = key.useAt(moment, limits);
  if (ownerLimits === undefined) return { own };
  return { own, owner: owner?.useAt(moment, ownerLimits) };
}

function usageUnknown(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "What this API key has used is not known yet: the gateway is starting. Try again soon.",
    { retryAfterSeconds: 1 },
  );
}

/**
 * Creates a clock in whole milliseconds that starts at the system's time and advances with the monotonic clock. Setting
 * the system's clock does not change it. Its times are only comparable with each other.
 */
function createSteadyClock(clock: Clock, monotonic: () => number): Clock {
  const offsetMs = clock.now() - monotonic();
  return { now: () => Math.floor(offsetMs + monotonic()) };
}
