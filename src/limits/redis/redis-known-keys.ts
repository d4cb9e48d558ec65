import { setTimeout as sleep } from "node:timers/promises";
import type { KeyLimits } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { within } from "../../lib/time/within.ts";
import { utcMonth } from "../key-counters.ts";
import type { LimitedSubject } from "../limits.ts";
import { readStoredUsage, readStoredUsageOfUser } from "./read-stored-usage.ts";
import { type HeldCall, monthName, type RedisCounters } from "./redis-counters.ts";
import type { RedisLink } from "./redis-link.ts";

/** How long the data read from the database is fresh, while the key is used. */
const FRESH_MS = 60_000;
/** Pause after a failed read. */
const RETRY_MS = 2_000;
/** Usage settled before Redis lost its memory is in the database by then, unless the database is unavailable. */
const STORED_WITHIN_MS = 500;
/** When Redis has returned, every replica is connected again by then, and has restored what its calls hold. */
const RESTORED_WITHIN_MS = 1_500;
/** More keys than are in use at once; keys without a call in progress are evicted. */
const KEYS_MAX = 20_000;

/** This replica's state of a key or a user whose calls it has admitted. */
export interface KnownKey {
  readonly keyId: string;
  readonly isUser: boolean;
  /** Its calls in progress on this replica, by id. */
  readonly underWay: Map<string, HeldCall>;
  /** As of the last read from the database: another object means that the key has changed. */
  limits: KeyLimits | undefined;
  generation: number;
  /** By the process's own clock. */
  lookDueAt: number;
  looking: Promise<void> | undefined;
}

/** The subjects of one call. */
export interface CallSubjects {
  readonly key: KnownKey;
  readonly owner?: KnownKey | undefined;
}

export interface KnownKeysOptions {
  readonly counters: RedisCounters;
  readonly link: Pick<RedisLink, "roseAt">;
  readonly database: Pick<Database, "askOwn">;
  readonly clock: Clock;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
}

/** Keeps the counters in Redis up to date with the database, key by key as keys are used. */
export class KnownKeys {
  readonly #options: KnownKeysOptions;
  readonly #keys = new Map<string, KnownKey>();
  #known: Promise<void> = new Promise(() => undefined);

  constructor(options: KnownKeysOptions) {
    this.#options = options;
  }

  /** Until `isKnown` settles, usage of lost processes is still being stored in the database. */
  waitFor(isKnown: Promise<void>): void {
    this.#known = isKnown;
  }

  callsUnderWay(): number {
    const ids = new Set<string>();
    for (const { underWay } of this.#keys.values()) {
      // A call of a key is under way for the key and for its owner.
      for (const id of underWay.keys()) ids.add(id);
    }
    return ids.size;
  }

  /** Returns the subjects of a call: the key or the session's user, and the key's owner if the owner has limits. */
  subjectsOf(call: LimitedSubject): CallSubjects {
    const { keyId, isSession, ownerId, ownerLimits } = call;
    const key = this.of(keyId, isSession);
    if (ownerId === undefined || ownerLimits === undefined) return { key };
    return { key, owner: this.of(ownerId, true) };
  }

  of(keyId: string, isUser = false): KnownKey {
    const known = this.#keys.get(keyId);
    if (known !== undefined) return known;
    if (this.#keys.size >= KEYS_MAX) this.#makeRoom();
    const key: KnownKey = {
      keyId,
      isUser,
      underWay: new Map(),
      limits: undefined,
      generation: 0,
      lookDueAt: 0,
      looking: undefined,
    };
    this.#keys.set(keyId, key);
    return key;
  }

  has(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /**
   * Resolves when the key can be counted under these limits. A new or changed key is first read from the database,
   * because it may have been used without limits. When the database is unavailable, the data in Redis is used.
   */
  async ready(key: KnownKey, limits: KeyLimits): Promise<void> {
    // The limits of a user are read anew with each key and session.
    if (key.limits !== limits && !(key.isUser && isEqual(key.limits, limits))) {
      await this.look(key).catch(() => undefined);
      key.limits = limits;
    } else if (performance.now() >= key.lookDueAt) this.lookSoon(key);
  }

  /** Reads the key from the database and raises the counters to it. Rejects with `storage_unavailable`. */
  look(key: KnownKey): Promise<void> {
    key.lookDueAt = performance.now() + RETRY_MS;
    key.looking ??= this.#look(key).finally(() => {
      key.looking = undefined;
    });
    return key.looking;
  }

  /** Does the same in the background. */
  lookSoon(key: KnownKey): void {
    this.look(key).catch(() => undefined);
  }

  /** A new generation does not have the calls in progress on this replica. */
  noteGeneration(key: KnownKey, generation: number): void {
    if (generation === key.generation) return;
    key.generation = generation;
    this.lookSoon(key);
  }

  lookAgain(keyId: string): void {
    const key = this.#keys.get(keyId);
    if (key !== undefined) this.lookSoon(key);
  }

  /**
   * Redis was unavailable and may have returned with an old state: no call is admitted before its key is read again.
   */
  lookAgainAll(): void {
    for (const key of this.#keys.values()) {
      key.limits = undefined;
      if (key.underWay.size > 0) this.lookSoon(key);
    }
  }

  async #look(key: KnownKey): Promise<void> {
    const { counters, link, database, clock, waitMs } = this.#options;
    const roseAt = link.roseAt();
    const { keyId, underWay } = key;
    for (const { id, heldUntil } of underWay.values()) {
      // The end of a call that takes this long was lost.
      if (heldUntil <= performance.now()) underWay.delete(id);
    }
    await within(this.#known, waitMs, usageUnknown);
    const { isKnown, ids: open } = await counters.look(keyId);
    if (!isKnown) await this.#awaitOthers(key);
    const ids = new Set([...open, ...underWay.keys()]);
    const now = clock.now();
    const since = monthName(utcMonth(now).beginsAt - 1);
    const readStored = key.isUser ? readStoredUsageOfUser : readStoredUsage;
    const stored = await database.askOwn((db) =>
      readStored(db, keyId, { since, ids: [...ids], now }),
    );
    // What was seen is of a Redis that may have lost its memory since.
    if (link.roseAt() !== roseAt) return this.#look(key);
    const ended = new Set(stored.ended.map(({ id }) => id));
    key.generation = await counters.sync(keyId, {
      stored,
      underWay: [...underWay.values()].filter(({ id }) => !ended.has(id)),
    });
    key.lookDueAt = performance.now() + FRESH_MS;
  }

  /**
   * A key that Redis does not know may be one that it has lost: other replicas then have calls of it in progress, whose
   * tokens are neither in Redis nor in the database. A key that is new to this replica costs nothing in quiet times.
   */
  async #awaitOthers({ keyId, underWay, generation }: KnownKey): Promise<void> {
    const { counters, link } = this.#options;
    if (underWay.size > 0) await counters.restore(keyId, [...underWay.values()]);
    const lostMs = generation === 0 ? 0 : STORED_WITHIN_MS;
    const returnedMs = link.roseAt() + RESTORED_WITHIN_MS - performance.now();
    const waitMs = Math.max(lostMs, returnedMs);
    if (waitMs > 0) await sleep(waitMs);
  }

  #makeRoom(): void {
    for (const { keyId, underWay, looking } of this.#keys.values()) {
      if (underWay.size === 0 && looking === undefined) this.#keys.delete(keyId);
    }
  }
}

function isEqual(known: KeyLimits | undefined, given: KeyLimits): boolean {
  return (
    known?.monthlyTokens === given.monthlyTokens &&
    known.requestsPerMinute === given.requestsPerMinute
  );
}

function usageUnknown(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "What this API key has used is not known yet: the gateway is starting. Try again soon.",
    { retryAfterSeconds: 1 },
  );
}
