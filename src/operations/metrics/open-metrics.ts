import type { Registry } from "../../backends/registry.ts";
import type { Settings } from "../../config/settings.ts";
import type { Database } from "../../db/database.ts";
import type { OpenCalls } from "../../gateway/open-calls.ts";
import type { Clock } from "../../lib/clock.ts";
import { within } from "../../lib/within.ts";
import type { License } from "../../license/license.ts";
import type { GuardedLimits } from "../../limits/guard-limits.ts";
import type { OpenUsageJournal } from "../../usage/journal/open-usage-journal.ts";
import type { DailyReconciliation } from "../../usage/sums/daily-reconciliation.ts";
import type { UsageUpkeep } from "../../usage/sums/usage-upkeep.ts";
import type { Figures } from "./figures.ts";
import { METRICS } from "./metric-table.ts";
import type { ReadPartFigures } from "./part-figures.ts";
import { type ProcessWatch, watchProcess } from "./process-figures.ts";
import { renderMetrics } from "./render-metrics.ts";
import type { LiveParts } from "./snapshot.ts";
import { createStoredReader } from "./stored-reader.ts";

/** What a scraper is shown. */
export interface Metrics {
  /**
   * All metrics in the text format, within DB_POOL_WAIT_MS whatever is away. Never rejects. Scrapes at the same time
   * share one collection, which also serves those that come within the next second.
   */
  readonly collect: () => Promise<string>;
  readonly close: () => void;
}

export interface OpenMetricsOptions {
  readonly settings: Pick<Settings, "DB_POOL_WAIT_MS" | "LLM_BACKEND">;
  /** Of the package. */
  readonly version: string;
  readonly clock: Clock;
  readonly database: Pick<Database, "askOwn" | "figures">;
  readonly registry: Pick<Registry, "figures"> & {
    readonly models: Pick<Registry["models"], "reachable">;
  };
  readonly journal: Pick<
    OpenUsageJournal,
    "unflushedRecords" | "oldestUnflushedAgeSeconds" | "isRefusing"
  >;
  readonly limits: Pick<GuardedLimits, "openReservations" | "isAvailable">;
  readonly license: Pick<License, "state">;
  readonly openCalls: Pick<OpenCalls, "count" | "streams">;
  readonly usageUpkeep: Pick<UsageUpkeep, "figures">;
  readonly usageReconciliation: Pick<DailyReconciliation, "figures">;
  readonly figures: Figures;
  /** What parts behind the gateway tell of themselves. */
  readonly parts?: readonly ReadPartFigures[];
}

const REUSED_FOR_MS = 1_000;

/** Collects figures when it is asked, and watches this process from the first time on. */
export function openMetrics(options: OpenMetricsOptions): Metrics {
  const { settings, database, clock, registry, parts = [] } = options;
  const live: LiveParts = {
    ...options.figures,
    version: options.version,
    backend: settings.LLM_BACKEND,
    license: options.license,
    limits: options.limits,
    database,
    journal: options.journal,
    openCalls: options.openCalls,
    upstreams: registry.figures,
    usageUpkeep: options.usageUpkeep,
    usageReconciliation: options.usageReconciliation,
  };
  const readStored = createStoredReader(database, parts, clock);
  let ownProcess: ProcessWatch | undefined;
  let isEngineUp = false;

  const askEngine = async (): Promise<void> => {
    isEngineUp = await registry.models.reachable();
  };
  const collect = async (): Promise<string> => {
    ownProcess ??= watchProcess();
    // An engine that takes longer is as it was last heard of.
    const tooLate = () => new Error("the engine is slow");
    const asked = within(askEngine(), settings.DB_POOL_WAIT_MS, tooLate).catch(() => undefined);
    const [stored, process] = await Promise.all([readStored(), ownProcess.read(), asked]);
    return renderMetrics(METRICS, { ...live, ...stored, isEngineUp, process });
  };
  return { collect: reuse(collect, REUSED_FOR_MS), close: () => ownProcess?.close() };
}

/** Makes what all share who ask while it is under way, or no later than so long after its end. */
function reuse(work: () => Promise<string>, reusedForMs: number): () => Promise<string> {
  let latest: Promise<string> | undefined;
  let reusedUntil = 0;
  return () => {
    if (latest !== undefined && performance.now() < reusedUntil) return latest;
    reusedUntil = Number.POSITIVE_INFINITY;
    latest = work().finally(() => {
      reusedUntil = performance.now() + reusedForMs;
    });
    return latest;
  };
}
