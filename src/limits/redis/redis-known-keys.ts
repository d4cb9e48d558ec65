import { setTimeout as sleep } from "node:timers/promises";
import type { KeyLimits } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import { within } from "../../lib/within.ts";
import { utcMonth } from "../key-counters.ts";
import { readStoredUsage } from "./read-stored-usage.ts";
import { type HeldCall, monthName, type RedisCounters } from "./redis-counters.ts";

/** How long what the database says of a key holds, while the key is used. */
const FRESH_MS = 60_000;
/** After a look that failed the next one waits so long. */
const RETRY_MS = 2_000;
/** What was settled before Redis lost its memory is in the database by then, unless that is away. */
const STORED_WITHIN_MS = 500;
/** More than are in use at once; those without a call under way make room. */
const KEYS_MAX = 20_000;

/** What this replica knows of a key that it has admitted calls of. */
export interface KnownKey {
  readonly keyId: string;
  /** Its calls under way here, by their ids. */
  readonly underWay: Map<string, HeldCall>;
  /** As of the last look at the database: another object is a changed key. */
  limits: KeyLimits | undefined;
  generation: number;
  /** By the process' own clock. */
  lookDueAt: number;
  looking: Promise<void> | undefined;
}

export interface KnownKeysOptions {
  readonly counters: RedisCounters;
  readonly database: Pick<Database, "askOwn">;
  readonly clock: Clock;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
}

/** Keeps the counters in Redis up to what the database says, key by key as keys are used. */
export class KnownKeys {
  readonly #options: KnownKeysOptions;
  readonly #keys = new Map<string, KnownKey>();
  #known: Promise<void> = new Promise(() => undefined);

  constructor(options: KnownKeysOptions) {
    this.#options = options;
  }

  /** What lost processes used is on its way to the database until then. */
  waitFor(isKnown: Promise<void>): void {
    this.#known = isKnown;
  }

  callsUnderWay(): number {
    let calls = 0;
    for (const { underWay } of this.#keys.values()) calls += underWay.size;
    return calls;
  }

  of(keyId: string): KnownKey {
    const known = this.#keys.get(keyId);
    if (known !== undefined) return known;
    if (this.#keys.size >= KEYS_MAX) this.#makeRoom();
    const key: KnownKey = {
      keyId,
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
   * Resolves when the key can be counted under these limits. A key that is new here, or has changed, is first read
   * from the database: it may have been used without limits. When that is away, what Redis knows has to do.
   */
  async ready(key: KnownKey, limits: KeyLimits): Promise<void> {
    if (key.limits !== limits) {
      await this.look(key).catch(() => undefined);
      key.limits = limits;
    } else if (performance.now() >= key.lookDueAt) this.lookSoon(key);
  }

  /** Reads the key from the database and brings the counters up to it. Rejects with `storage_unavailable`. */
  look(key: KnownKey): Promise<void> {
    key.lookDueAt = performance.now() + RETRY_MS;
    key.looking ??= this.#look(key).finally(() => {
      key.looking = undefined;
    });
    return key.looking;
  }

  /** The same behind the calls. */
  lookSoon(key: KnownKey): void {
    this.look(key).catch(() => undefined);
  }

  /** Another generation has none of the calls that are under way here. */
  noteGeneration(key: KnownKey, generation: number): void {
    if (generation === key.generation) return;
    key.generation = generation;
    this.lookSoon(key);
  }

  lookAgain(keyId: string): void {
    const key = this.#keys.get(keyId);
    if (key !== undefined) this.lookSoon(key);
  }

  /** Redis was away and may have come back as it was long ago: no call is admitted before its key was looked at. */
  lookAgainAll(): void {
    for (const key of this.#keys.values()) {
      key.limits = undefined;
      if (key.underWay.size > 0) this.lookSoon(key);
    }
  }

  async #look(key: KnownKey): Promise<void> {
    const { counters, database, clock, waitMs } = this.#options;
    const { keyId, underWay } = key;
    for (const { id, heldUntil } of underWay.values()) {
      // A call that takes so long has lost its end.
      if (heldUntil <= performance.now()) underWay.delete(id);
    }
    await within(this.#known, waitMs, usageUnknown);
    const { isKnown, ids: open } = await counters.look(keyId);
    if (!isKnown && key.generation !== 0) await sleep(STORED_WITHIN_MS);
    const ids = new Set([...open, ...underWay.keys()]);
    const now = clock.now();
    const since = monthName(utcMonth(now).beginsAt - 1);
    const stored = await database.askOwn((db) =>
      readStoredUsage(db, keyId, { since, ids: [...ids], now }),
    );
    const ended = new Set(stored.ended.map(({ id }) => id));
    key.generation = await counters.sync(keyId, {
      stored,
      since,
      underWay: [...underWay.values()].filter(({ id }) => !ended.has(id)),
    });
    key.lookDueAt = performance.now() + FRESH_MS;
  }

  #makeRoom(): void {
    for (const { keyId, underWay, looking } of this.#keys.values()) {
      if (underWay.size === 0 && looking === undefined) this.#keys.delete(keyId);
    }
  }
}

function usageUnknown(): ServiceError {
  return new ServiceError(
    "storage_unavailable",
    "What this API key has used is not known yet: the gateway is starting. Try again soon.",
    { retryAfterSeconds: 1 },
  );
}
