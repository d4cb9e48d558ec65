import type { Settings } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import type { ReplicaGuard } from "../db/locks/replica-guard.ts";
import type { Log } from "../lib/log.ts";
import type { TestClock } from "../lib/test-clock.ts";
import { type GuardedLimits, guardLimits } from "./guard-limits.ts";
import type { MonthlyUseObserver } from "./limits.ts";
import { openMemoryLimits } from "./memory-limits.ts";
import { openRedisLimits } from "./redis/redis-limits.ts";

export interface OpenLimitsOptions {
  readonly settings: Pick<
    Settings,
    "REDIS_URL" | "DB_POOL_WAIT_MS" | "GATEWAY_REQUEST_TIMEOUT" | "LLM_REQUEST_TIMEOUT"
  >;
  readonly database: Pick<Database, "db" | "askOwn">;
  readonly guard: Pick<ReplicaGuard, "isSafe">;
  /** A text that no other installation has. */
  readonly installation: string;
  readonly clock: Pick<TestClock, "now" | "monotonic">;
  readonly log: Log;
  readonly observer: MonthlyUseObserver;
}

/** Counts the limits in Redis at REDIS_URL, for several replicas, else in the memory of the only one. */
export async function openLimits(options: OpenLimitsOptions): Promise<GuardedLimits> {
  const { settings, guard, installation, ...given } = options;
  const { REDIS_URL: url } = settings;
  const timeoutSeconds = settings.GATEWAY_REQUEST_TIMEOUT ?? settings.LLM_REQUEST_TIMEOUT;
  const common = {
    ...given,
    callTimeoutMs: timeoutSeconds * 1_000,
    waitMs: settings.DB_POOL_WAIT_MS,
  };
  const limits =
    url === undefined
      ? await openMemoryLimits({ ...common, monotonic: given.clock.monotonic })
      : await openRedisLimits({ ...common, url, installation });
  return guardLimits(limits, guard);
}
