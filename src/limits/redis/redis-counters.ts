import type { KeyLimits } from "../../core/callers/caller.ts";
import { type Clock, systemClock } from "../../lib/time/clock.ts";
import { tokensNeeded } from "../judge.ts";
import { utcMonth } from "../key-counters.ts";
import type { LimitedCall, LimitedSubject } from "../limits.ts";
import type { CallUse, KeyUse } from "../report.ts";
import type { StoredUsage } from "./read-stored-usage.ts";
import type { RedisLink } from "./redis-link.ts";
import { type RedisScript, redisScript, runScript } from "./redis-script.ts";

const ADMIT = redisScript("admit");
const SETTLE = redisScript("settle");
const SYNC = redisScript("sync");
const READ = redisScript("read");
const BOOK = redisScript("book");
const EXTEND = redisScript("extend");
const RESTORE = redisScript("restore");

/** More than any call may use, and well within the range of exact integers. */
const TOKENS_MAX = 2 ** 40;
/** The number of figures that a script returns of each subject. */
const FIGURES = 9;
/** Maximum of open calls per lookup, those that end first before the others. */
const OPEN_CALLS_MAX = 1_000;

export interface RedisCountersOptions {
  readonly link: RedisLink;
  /** The prefix of this installation's Redis keys. */
  readonly prefix: string;
  readonly clock: Clock;
}

/** The usage of a call's subjects; a generation changes when Redis has lost its data about the subject. */
export interface CountedUse {
  readonly use: CallUse;
  readonly generation: number;
  readonly ownerGeneration: number;
}

/** Includes the usage after an admission, or before a refusal. */
export interface CountedAdmission extends CountedUse {
  readonly isAdmitted: boolean;
  /** Output tokens that an admitted call may spend. */
  readonly outputTokens: number;
}

/** The reservation of a call. */
export interface HeldCall {
  readonly id: string;
  readonly tokens: number;
  /** `2026-07`, UTC. */
  readonly month: string;
  /** By the process's own clock, in milliseconds. */
  readonly heldUntil: number;
}

/** The tokens of an ended call that was never made, so that it counts towards no limit. */
export const NEVER_MADE = -1;

/** A call that has ended; NEVER_MADE tokens take it back. */
export interface EndedCall {
  readonly id: string;
  readonly tokens: number;
}

export interface SyncedState {
  readonly stored: StoredUsage;
  /** Calls of this process in progress. */
  readonly underWay: readonly HeldCall[];
}

/**
 * The counters of all keys and users, kept in Redis; each method is one atomic step there. All reject with `storage_unavailable`.
 */
export class RedisCounters {
  readonly #options: RedisCountersOptions;

  constructor(options: RedisCountersOptions) {
    this.#options = options;
  }

  /** Undefined when the key or its owner is unknown. */
  async admit(call: LimitedCall, holdMs: number): Promise<CountedAdmission | undefined> {
    const { startedAt } = call;
    const reply = await this.#run(ADMIT, subjectIdsOf(call), [
      call.id,
      monthName(startedAt),
      tokenCount(call.inputTokens),
      tokenCount(call.outputTokens),
      tokenCount(tokensNeeded(call)),
      holdMs,
      ...limitsOf(call).flatMap((limits) => [
        limitOf(limits.requestsPerMinute),
        limitOf(limits.requests),
        limitOf(limits.tokens),
        limitOf(limits.monthlyTokens),
      ]),
    ]);
    return this.#admissionOf(reply, startedAt);
  }

  /**
   * Holds further tokens for an open call; the result's `outputTokens` are those added. Undefined when the key, its
   * owner or the call is unknown.
   */
  async extend(
    call: LimitedCall,
    { tokens, least }: { readonly tokens: number; readonly least: number },
  ): Promise<CountedAdmission | undefined> {
    const { id, startedAt } = call;
    const reply = await this.#run(EXTEND, subjectIdsOf(call), [
      id,
      monthName(startedAt),
      tokenCount(tokens),
      tokenCount(least),
      ...limitsOf(call).flatMap((limits) => [
        limitOf(limits.requestsPerMinute),
        limitOf(limits.tokens),
        limitOf(limits.monthlyTokens),
      ]),
    ]);
    return this.#admissionOf(reply, startedAt);
  }

  /** Undefined when the key or its owner is unknown. */
  async read(call: LimitedSubject, now: number): Promise<CountedUse | undefined> {
    const perMinute = limitsOf(call).map((limits) => limitOf(limits.requestsPerMinute));
    const reply = await this.#run(READ, subjectIdsOf(call), [monthName(now), ...perMinute]);
    return reply[0] === -1 ? undefined : this.#countedOf(reply, now);
  }

  /**
   * Ends calls of the same subjects, each once. Returns the settled tokens of each call's month, of the first subject;
   * -1 for calls that had ended before.
   */
  settle(ids: readonly string[], calls: readonly EndedCall[]): Promise<readonly number[]> {
    const args = calls.flatMap(({ id, tokens }) => [
      id,
      tokens === NEVER_MADE ? NEVER_MADE : tokenCount(tokens),
    ]);
    return this.#run(SETTLE, ids, args);
  }

  /** Counts a call that held nothing, for each of its subjects. */
  async book(ids: readonly string[], startedAt: number, tokens: number): Promise<void> {
    await this.#run(BOOK, ids, [tokenCount(tokens), monthName(startedAt)]);
  }

  /** Returns whether the key is known, and the ids of its calls in progress on all replicas. */
  look(keyId: string): Promise<{ readonly isKnown: boolean; readonly ids: readonly string[] }> {
    const [counts = "", , expiry = ""] = this.#keysOf(keyId);
    return this.#options.link.run(async (redis) => {
      const [known, ids] = await Promise.all([
        redis.hexists(counts, "generation"),
        redis.zrange(expiry, 0, OPEN_CALLS_MAX - 1),
      ]);
      return { isKnown: known === 1, ids };
    });
  }

  /** Raises the counters to the sums of the database, and returns their generation. */
  async sync(keyId: string, { stored, underWay }: SyncedState): Promise<number> {
    const reply = await this.#options.link.run((redis) =>
      runScript(redis, SYNC, this.#keysOf(keyId), [
        this.#clockAheadMs(),
        stored.requests,
        stored.tokens,
        stored.months.length,
        ...stored.months.flatMap(({ month, tokens }) => [month, tokens]),
        stored.ended.length,
        ...stored.ended.flatMap(({ id, tokens }) => [id, tokenCount(tokens)]),
        ...heldArguments(underWay),
      ]),
    );
    return Number(reply);
  }

  /** Holds again what calls in progress of this process hold, for a key that Redis has lost. */
  async restore(keyId: string, underWay: readonly HeldCall[]): Promise<void> {
    await this.#run(RESTORE, [keyId], heldArguments(underWay));
  }

  async #run(
    script: RedisScript,
    ids: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly number[]> {
    const all = [this.#clockAheadMs(), ...args];
    const reply = await this.#options.link.run((redis) =>
      runScript(
        redis,
        script,
        ids.flatMap((id) => this.#keysOf(id)),
        all,
      ),
    );
    return Array.isArray(reply) ? reply.map(Number) : [Number(reply)];
  }

  /** The id of an API key or a user. */
  #keysOf(subjectId: string): readonly string[] {
    const tag = `${this.#options.prefix}:{${subjectId}}`;
    return [`${tag}:counts`, `${tag}:open`, `${tag}:expiry`, `${tag}:window`];
  }

  /**
   * Redis's own clock provides the time, so that all replicas share one; a test moves it together with the replica's.
   */
  #clockAheadMs(): number {
    // The two clocks are read one after the other, so a difference of a few milliseconds is ignored.
    return Math.round((this.#options.clock.now() - systemClock.now()) / 10) * 10;
  }

  #admissionOf(reply: readonly number[], monthOf: number): CountedAdmission | undefined {
    const [verdict, outputTokens = 0] = reply;
    if (verdict === -1) return undefined;
    return { ...this.#countedOf(reply, monthOf), isAdmitted: verdict === 1, outputTokens };
  }

  /** @param monthOf a moment of the month that was counted, in Unix milliseconds. */
  #countedOf(reply: readonly number[], monthOf: number): CountedUse {
    const [own, owner] = [reply.slice(2), reply.slice(2 + FIGURES)];
    return {
      generation: own[0] ?? 0,
      ownerGeneration: owner[0] ?? 0,
      use: {
        own: this.#useOf(own, monthOf),
        owner: owner.length === 0 ? undefined : this.#useOf(owner, monthOf),
      },
    };
  }

  #useOf(figures: readonly number[], monthOf: number): KeyUse {
    const [, windowCalls = 0, windowOpensInMs = 0, windowEmptiesInMs = 0] = figures;
    const [requests = 0, tokens = 0, reservedTokens = 0, monthTokens = 0, monthReservedTokens = 0] =
      figures.slice(4);
    return {
      now: this.#options.clock.now(),
      windowCalls,
      windowOpensInMs,
      windowEmptiesInMs,
      requests,
      tokens,
      reservedTokens,
      monthEndsAt: utcMonth(monthOf).endsAt,
      monthTokens,
      monthReservedTokens,
    };
  }
}

/** Returns the ids of a call's subjects: the key or the session's user, and the key's owner if the owner has limits. */
export function subjectIdsOf({ keyId, ownerId, ownerLimits }: LimitedSubject): readonly string[] {
  return ownerId === undefined || ownerLimits === undefined ? [keyId] : [keyId, ownerId];
}

/** In the same order. */
function limitsOf({ limits, ownerId, ownerLimits }: LimitedSubject): readonly KeyLimits[] {
  return ownerId === undefined || ownerLimits === undefined ? [limits] : [limits, ownerLimits];
}

/** Returns the UTC month of a moment, as `2026-07`. */
export function monthName(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 7);
}

function heldArguments(underWay: readonly HeldCall[]): readonly (string | number)[] {
  const now = performance.now();
  return [
    underWay.length,
    ...underWay.flatMap(({ id, tokens, month, heldUntil }) => [
      id,
      tokens,
      month,
      Math.max(0, Math.ceil(heldUntil - now)),
    ]),
  ];
}

function limitOf(limit: number | null): number {
  return limit ?? -1;
}

/** Returns the count that Redis accepts. NaN counts as 0: Redis would refuse it in the middle of a script. */
function tokenCount(tokens: number): number {
  if (Number.isNaN(tokens)) return 0;
  return Math.min(Math.max(0, Math.ceil(tokens)), TOKENS_MAX);
}
