import { callTimeoutMs } from "../config/call-timeout.ts";
import { single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { ReplicaGuard } from "../db/locks/replica-guard.ts";
import { type GuardedLimits, guardLimits, safetyOf } from "./guard-limits.ts";
import type { MonthlyUseObserver } from "./limits.ts";
import { openMemoryLimits } from "./memory-limits.ts";
import type { RedisLimitsOptions } from "./redis/redis-limits.ts";
import { openSessionTokens } from "./session-tokens.ts";

export interface OpenLimitsOptions {
  readonly guard: Pick<ReplicaGuard, "isSafe">;
  /** A text that is unique to this installation. */
  readonly installation: string;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
}

export interface OpenLimits extends GuardedLimits, Pick<Part, "metrics" | "checks"> {
  /** Sets the observer of monthly usage from now on. */
  readonly observe: (observer: MonthlyUseObserver) => void;
}

/** Opens the limits: counted in Redis at REDIS_URL for several replicas, else in the memory of the only one. */
export async function openLimits(
  { settings, database, clock, log }: Base,
  { guard, installation, monotonic }: OpenLimitsOptions,
): Promise<OpenLimits> {
  const { REDIS_URL: url } = settings;
  let current: MonthlyUseObserver | undefined;
  const observer: MonthlyUseObserver = {
    onMonthUse: (keyId, tokens, limit) => current?.onMonthUse(keyId, tokens, limit),
    onMonthlyRefusal: (keyId, tokens, limit) => current?.onMonthlyRefusal(keyId, tokens, limit),
  };
  const sessionTokens = openSessionTokens({ database, log });
  const common = {
    database,
    clock,
    log,
    observer,
    storeSession: sessionTokens.add,
    callTimeoutMs: callTimeoutMs(settings),
    waitMs: settings.DB_POOL_WAIT_MS,
    // The limits wrapped below are asked only for admissions; these grant further tokens themselves.
    requireSafe: safetyOf(guard),
  };
  const counted =
    url === undefined
      ? await openMemoryLimits({ ...common, monotonic })
      : await openOverRedis({ ...common, url, installation });
  const limits = guardLimits(counted, guard);
  return {
    ...limits,
    async close() {
      // Ends that Redis did not confirm are stored at last.
      await limits.close();
      await sessionTokens.close();
    },
    observe: (next) => {
      current = next;
    },
    metrics: [
      {
        name: "svc_limit_reservations_open",
        type: "gauge",
        help: "Calls of this process that hold a reservation on the limits of their key.",
        labels: [],
        read: () => single(limits.openReservations()),
      },
      {
        name: "svc_limits_available",
        type: "gauge",
        help: "1 while the limits of keys can be checked; while 0, calls of keys that have any are refused.",
        labels: [],
        read: () => single(limits.isAvailable()),
      },
    ],
    checks: { limits: limits.isAvailable },
  };
}

/** Its client takes memory and time to load, which most installations do without. */
async function openOverRedis(options: RedisLimitsOptions): Promise<GuardedLimits> {
  const { openRedisLimits } = await import("./redis/redis-limits.ts");
  return openRedisLimits(options);
}
