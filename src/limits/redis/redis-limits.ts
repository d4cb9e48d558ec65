import type { KeyLimits } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import { shortDigest } from "../../lib/id.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { GuardedLimits } from "../guard-limits.ts";
import { extendedCall, findRefusal, hasTokenLimit, type Refusal } from "../judge.ts";
import { limitRefusal } from "../limit-refusal.ts";
import type {
  Admission,
  EarlyCall,
  LimitedCall,
  LimitedSubject,
  LimitReport,
  LostCall,
  MonthlyUseObserver,
  StoreSession,
} from "../limits.ts";
import { reservationOver } from "../open-reservations.ts";
import { readOwners } from "../owner-usage.ts";
import { type CallUse, reportOf, statusOfCall } from "../report.ts";
import {
  type CountedAdmission,
  type HeldCall,
  monthName,
  NEVER_MADE,
  RedisCounters,
  subjectIdsOf,
} from "./redis-counters.ts";
import { type CallSubjects, KnownKeys } from "./redis-known-keys.ts";
import { openRedisLink, type RedisLink } from "./redis-link.ts";
import { UnsentSettles } from "./redis-unsent-settles.ts";

/** How far a call may exceed its timeout before its end counts as lost. */
const EXPIRY_GRACE_MS = 60_000;
/** Redis may lose its memory repeatedly while a key is being read from the database, so attempts are bounded. */
const TRIES_MAX = 3;
/** A call without known tokens is judged by a single token. */
const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };

export interface RedisLimitsOptions {
  /** REDIS_URL. */
  readonly url: string;
  readonly database: Pick<Database, "askOwn">;
  readonly clock: Clock;
  readonly log: Log;
  /** Timeout of a whole call. */
  readonly callTimeoutMs: number;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  /** A text that is unique to this installation: several may share one Redis. */
  readonly installation: string;
  readonly observer: MonthlyUseObserver;
  /** Absent where no sessions call models. */
  readonly storeSession?: StoreSession;
  /** Throws while tokens must not be granted, because another process counts on its own. */
  readonly requireSafe?: () => void;
}

/**
 * Opens the limits of several replicas, counted in one Redis or Valkey: a call is admitted there in one step over all
 * limits of its key. Resolves even when Redis is unavailable; calls are then refused until it returns.
 *
 * The data in Redis can be rebuilt at any time. The sums of the database are loaded when a key is first called here,
 * when Redis has lost them, and once a minute while the key is used. The sums lag behind the counters and never lead,
 * so the larger of both counts.
 *
 * Only a call that holds tokens can be settled, and only once. Usage whose reservation is gone, expired or lost by
 * Redis, counts once its row is in the sums. So usage is neither counted twice nor lost.
 *
 * After Redis has lost its memory, each replica restores the reservations of its calls in progress at once, and a key
 * counts again only when all have, and when the usage of the last moments is stored. Usage that is still in a journal
 * then, because the database is unavailable too, is unknown until it is stored.
 */
export async function openRedisLimits(options: RedisLimitsOptions): Promise<GuardedLimits> {
  const limits: { current?: RedisLimits } = {};
  const link = await openRedisLink({
    url: options.url,
    log: options.log,
    onUp: () => limits.current?.resume(),
  });
  limits.current = new RedisLimits(options, link);
  return limits.current;
}

class RedisLimits implements GuardedLimits {
  readonly #options: RedisLimitsOptions;
  readonly #link: RedisLink;
  readonly #counters: RedisCounters;
  readonly #keys: KnownKeys;
  readonly #unsent: UnsentSettles;
  readonly #holdMs: number;

  constructor(options: RedisLimitsOptions, link: RedisLink) {
    const { clock, database, waitMs } = options;
    this.#options = options;
    this.#link = link;
    this.#holdMs = options.callTimeoutMs + EXPIRY_GRACE_MS;
    const prefix = `inference-gateway:${shortDigest(options.installation, 12)}`;
    const counters = new RedisCounters({ link, prefix, clock });
    this.#counters = counters;
    this.#keys = new KnownKeys({ counters, link, database, clock, waitMs });
    this.#unsent = new UnsentSettles(counters);
  }

  start(isKnown: Promise<void>): void {
    this.#keys.waitFor(isKnown);
  }

  async admit(call: LimitedCall): Promise<Admission> {
    const subjects = await this.#readySubjects(call);
    const counted = await this.#count(subjects, call);
    this.#noteGenerations(subjects, counted);
    if (!counted.isAdmitted) throw this.#refusal(call, counted.use);
    return this.#admission(subjects, call, counted);
  }

  /** Redis is asked where the refusal is certain, or where the answer may save reading a long body. */
  refuseExhausted(call: EarlyCall): Promise<void> | undefined {
    const hasZero =
      Object.values(call.limits).includes(0) || Object.values(call.ownerLimits ?? {}).includes(0);
    return hasZero || call.isLarge ? this.#refuseExhausted({ ...call, ...NO_TOKENS }) : undefined;
  }

  async #refuseExhausted(call: LimitedCall): Promise<void> {
    const subjects = await this.#readySubjects(call);
    const { use } = await this.#known(subjects, () => this.#counters.read(call, call.startedAt));
    if (findRefusal(call, use) !== undefined) throw this.#refusal(call, use);
  }

  async countInMinute(early: EarlyCall): Promise<void> {
    const call = { ...early, ...NO_TOKENS };
    const subjects = await this.#readySubjects(call);
    const counted = await this.#known(subjects, () => this.#counters.admit(call, 0));
    if (!counted.isAdmitted) throw this.#refusal(call, counted.use);
  }

  book(keyId: string, startedAt: number, tokens: number, ownerId?: string): void {
    this.#bookKnown(ownerId === undefined ? [keyId] : [keyId, ownerId], startedAt, tokens);
  }

  /** A key or user without calls under limits is read from the database at its first such call. */
  #bookKnown(ids: readonly string[], startedAt: number, tokens: number): void {
    const known = ids.filter((id) => this.#keys.has(id));
    if (known.length === 0) return;
    this.#counters.book(known, startedAt, tokens).catch(() => {
      for (const id of known) this.#keys.lookAgain(id);
    });
  }

  bookSession(userId: string, startedAt: number, tokens: number): void {
    const store = () => this.#options.storeSession?.(userId, startedAt, tokens);
    if (!this.#keys.has(userId)) {
      store();
      return;
    }
    // Stored only afterwards, because the sums of the database must not lead the counters.
    this.#counters
      .book([userId], startedAt, tokens)
      .catch(() => this.#keys.lookAgain(userId))
      .finally(store);
  }

  async read(keyId: string, limits: KeyLimits | null, now: number): Promise<LimitReport> {
    if (limits === null) return {};
    const key = this.#keys.of(keyId);
    // Not with `ready`: the reader passes its own limits object, which calls would take for a changed key.
    await this.#keys.look(key).catch(() => undefined);
    const { use } = await this.#known({ key }, () => this.#counters.read({ keyId, limits }, now));
    return reportOf(limits, use.own);
  }

  async settleLost(calls: readonly LostCall[], store: () => Promise<void>): Promise<void> {
    await store();
    for (const { keyId, id, tokens } of calls) {
      this.#unsent.send({ subjectIds: [keyId], id, tokens });
    }
    // Usage without a reservation is in the sums of the database.
    const keyIds = new Set(calls.map((call) => call.keyId));
    for (const keyId of keyIds) this.#keys.lookAgain(keyId);
    // So are the rows of the calls whose reservations their owners still hold.
    const { database } = this.#options;
    const owners = await database.askOwn((db) => readOwners(db, keyIds));
    for (const ownerId of new Set(owners.values())) this.#keys.lookAgain(ownerId);
  }

  openReservations(): number {
    return this.#keys.callsUnderWay();
  }

  isAvailable(): boolean {
    return this.#link.isUp();
  }

  async close(): Promise<void> {
    await this.#unsent.finish();
    this.#link.close();
  }

  /** Continues after a reconnect: Redis may have lost everything, and has missed calls that ended in the meantime. */
  resume(): void {
    void this.#unsent.resend();
    this.#keys.lookAgainAll();
  }

  async #readySubjects(call: LimitedSubject): Promise<CallSubjects> {
    const subjects = this.#keys.subjectsOf(call);
    await this.#keys.ready(subjects.key, call.limits);
    if (subjects.owner !== undefined && call.ownerLimits !== undefined)
      await this.#keys.ready(subjects.owner, call.ownerLimits);
    return subjects;
  }

  #noteGenerations({ key, owner }: CallSubjects, counted: CountedAdmission): void {
    this.#keys.noteGeneration(key, counted.generation);
    if (owner !== undefined) this.#keys.noteGeneration(owner, counted.ownerGeneration);
  }

  #count(subjects: CallSubjects, call: LimitedCall): Promise<CountedAdmission> {
    return this.#known(subjects, async () => {
      const wasUp = this.#link.isUp();
      try {
        return await this.#counters.admit(call, this.#holdMs);
      } catch (thrown) {
        // The answer is lost, but the call may have been admitted.
        if (wasUp)
          this.#unsent.keep({ subjectIds: subjectIdsOf(call), id: call.id, tokens: NEVER_MADE });
        throw thrown;
      }
    });
  }

  /** Runs `ask`, and loads the subjects from the database whenever Redis does not know one. */
  async #known<Answer>(
    { key, owner }: CallSubjects,
    ask: () => Promise<Answer | undefined>,
  ): Promise<Answer> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await Promise.all([this.#keys.look(key), owner && this.#keys.look(owner)]);
    }
    throw new ServiceError("storage_unavailable", "The gateway's Redis does not keep its data.");
  }

  #admission(
    { key, owner }: CallSubjects,
    call: LimitedCall,
    counted: CountedAdmission,
  ): Admission {
    const { id, startedAt, inputTokens } = call;
    const { use, outputTokens } = counted;
    const month = monthName(startedAt);
    const heldUntil = performance.now() + this.#holdMs;
    const held = { id, tokens: inputTokens + outputTokens, month, heldUntil };
    key.underWay.set(id, held);
    owner?.underWay.set(id, held);
    let isOver = false;
    const end = (tokens: number): void => {
      if (isOver) return;
      isOver = true;
      key.underWay.delete(id);
      owner?.underWay.delete(id);
      this.#sendEnd({ key, owner }, call, tokens);
    };
    return {
      outputTokens: hasTokenLimit(call) ? outputTokens : undefined,
      status: statusOfCall(call, use),
      extend: (tokens, least) => this.#extend({ key, owner }, call, { tokens, least }),
      settle: end,
      cancel: () => end(NEVER_MADE),
    };
  }

  #sendEnd({ key, owner }: CallSubjects, call: LimitedCall, tokens: number): void {
    const { id, keyId, ownerId, startedAt, isSession } = call;
    const subjectIds = subjectIdsOf(call);
    if (tokens === NEVER_MADE) {
      this.#unsent.send({ subjectIds, id, tokens });
      return;
    }
    const { observer, clock, storeSession } = this.#options;
    const onSettled = (monthTokens: number) => {
      const limit = isSession === true ? null : (key.limits?.monthlyTokens ?? null);
      if (limit === null || monthName(startedAt) !== monthName(clock.now())) return;
      observer.onMonthUse(keyId, monthTokens, limit);
    };
    // Stored only afterwards, because the sums of the database must not lead the counters.
    const onOver = isSession === true ? () => storeSession?.(keyId, startedAt, tokens) : undefined;
    this.#unsent.send({ subjectIds, id, tokens, onSettled, onOver });
    // The owner may have got limits during the call.
    if (owner === undefined && ownerId !== undefined) {
      this.#bookKnown([ownerId], startedAt, tokens);
    }
  }

  /** Holds further tokens for a call in progress, and returns how many. */
  async #extend(
    subjects: CallSubjects,
    call: LimitedCall,
    asked: { readonly tokens: number; readonly least: number },
  ): Promise<number> {
    this.#options.requireSafe?.();
    const { id, limits, ownerLimits } = call;
    if (this.#heldBy(subjects, id) === undefined) throw reservationOver();
    const counted = await this.#known(subjects, () => this.#counters.extend(call, asked));
    this.#noteGenerations(subjects, counted);
    const held = this.#heldBy(subjects, id);
    if (held === undefined) throw reservationOver();
    const { use, outputTokens: granted } = counted;
    if (!counted.isAdmitted) {
      const extended = extendedCall(call, use, { held: held.tokens, least: asked.least });
      const refusal = requireRefusal(extended.call, extended.use);
      this.#tellRefused(refusal, extended.call, use);
      throw limitRefusal(refusal, { ...extended.call, limits, ownerLimits }, extended.use);
    }
    const more = { ...held, tokens: held.tokens + granted };
    subjects.key.underWay.set(id, more);
    subjects.owner?.underWay.set(id, more);
    return granted;
  }

  /** Returns what a call holds, as long as each of its subjects holds it. */
  #heldBy({ key, owner }: CallSubjects, id: string): HeldCall | undefined {
    if (owner !== undefined && !owner.underWay.has(id)) return undefined;
    return key.underWay.get(id);
  }

  #refusal(call: LimitedCall, use: CallUse): ServiceError {
    const refusal = requireRefusal(call, use);
    this.#tellRefused(refusal, call, use);
    return limitRefusal(refusal, call, use);
  }

  /** Observers learn of keys only. */
  #tellRefused({ limit, holds, isOwners }: Refusal, call: LimitedCall, { own }: CallUse): void {
    const { keyId, limits, isSession } = call;
    if (limit !== "monthlyTokens" || holds === "while-reserved") return;
    if (isOwners === true || isSession === true) return;
    if (own.now < own.monthEndsAt && call.asksAgain !== true) {
      this.#options.observer.onMonthlyRefusal(keyId, own.monthTokens, limits.monthlyTokens ?? 0);
    }
  }
}

function requireRefusal(call: LimitedCall, use: CallUse): Refusal {
  const refusal = findRefusal(call, use);
  if (refusal === undefined) throw new Error("a call was refused that no limit refuses");
  return refusal;
}
