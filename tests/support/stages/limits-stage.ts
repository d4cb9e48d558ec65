import type { KeyLimits } from "../../../src/core/callers/caller.ts";
import { ServiceError } from "../../../src/core/service-error.ts";
import type { Database } from "../../../src/db/database.ts";
import { createLog, type Log } from "../../../src/lib/log.ts";
import type { Admission, LimitedCall, Limits } from "../../../src/limits/limits.ts";
import { openMemoryLimits } from "../../../src/limits/memory-limits.ts";

export const UNLIMITED: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};

/** The middle of a month. */
export const NOON = Date.UTC(2026, 9, 15, 12);
export const CALL_TIMEOUT_MS = 600_000;

/** What an observer was told: the event, the key, the tokens, the limit. */
export type Told = readonly [string, string, number, number];

export interface LimitsStage {
  readonly limits: Limits;
  /** Unix milliseconds; to be set. */
  now: number;
  /** Milliseconds by the clock that nobody else can set. */
  ran: number;
  /** Lets so many milliseconds pass, by both clocks. */
  readonly pass: (ms: number) => void;
  readonly told: Told[];
  /** Asks for a call that begins now. The key is `key_1`. */
  readonly admit: (limits: Partial<KeyLimits>, call?: Partial<LimitedCall>) => Admission;
  /** The error that refuses it. */
  readonly refusal: (limits: Partial<KeyLimits>, call?: Partial<LimitedCall>) => ServiceError;
  /** Where `key_1` stands. */
  readonly read: (limits: Partial<KeyLimits>) => ReturnType<Limits["read"]>;
}

/** Limits in memory over a real database, under a clock of the test's own; they admit calls at once. */
export async function openLimitsStage(
  database: Database,
  at = NOON,
  log: Log = createLog("silent"),
): Promise<LimitsStage> {
  const told: Told[] = [];
  const clock = { now: () => stage.now };
  let calls = 0;
  const callOf = (limits: Partial<KeyLimits>, call: Partial<LimitedCall>): LimitedCall => {
    calls += 1;
    return {
      id: `req_${calls}`,
      keyId: "key_1",
      startedAt: stage.now,
      inputTokens: 0,
      outputTokens: 0,
      ...call,
      limits: { ...UNLIMITED, ...limits },
    };
  };
  const stage = { now: at, ran: 0 };
  const limits = await openMemoryLimits({
    database,
    clock,
    monotonic: () => stage.ran,
    log,
    callTimeoutMs: CALL_TIMEOUT_MS,
    waitMs: 50,
    observer: {
      onMonthUse: (...facts) => told.push(["use", ...facts]),
      onMonthlyRefusal: (...facts) => told.push(["refusal", ...facts]),
    },
  });
  limits.start(Promise.resolve());
  await Promise.resolve();
  const admit: LimitsStage["admit"] = (bounds, call = {}) => {
    const admission = limits.admit(callOf(bounds, call));
    if (admission instanceof Promise) throw new Error("it is not known yet what keys have used");
    return admission;
  };
  return Object.assign(stage, {
    limits,
    told,
    pass(ms: number) {
      stage.now += ms;
      stage.ran += ms;
    },
    admit,
    refusal: (bounds: Partial<KeyLimits>, call: Partial<LimitedCall> = {}) => {
      try {
        admit(bounds, call);
      } catch (thrown) {
        if (thrown instanceof ServiceError) return thrown;
        throw thrown;
      }
      throw new Error("it was admitted");
    },
    read: (bounds: Partial<KeyLimits>) =>
      limits.read("key_1", { ...UNLIMITED, ...bounds }, stage.now),
  });
}
