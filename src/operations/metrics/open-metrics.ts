import { type Metric, single } from "../../core/metric.ts";
import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { shareRecent } from "../../lib/concurrency.ts";
import { within } from "../../lib/time/within.ts";
import { createJobFigures, type JobFigures } from "./job-figures.ts";
import { renderMetrics } from "./render-metrics.ts";
import { createRequestFigures, type RequestFigures } from "./request-figures.ts";

export interface Metrics extends Part {
  /**
   * Returns the metrics of all parts in the text format, within DB_POOL_WAIT_MS even if a dependency is unavailable.
   * Never rejects. Concurrent scrapes share one collection, which also serves those of the next second.
   */
  readonly collect: () => Promise<string>;
  /** Counters for the modules to the right of `deps.ts`. */
  readonly figures: { readonly requests: RequestFigures; readonly jobs: JobFigures };
}

const REUSED_FOR_MS = 1_000;
/** A reading that takes longer has lost its connection, so another may begin. */
const ABANDON_MS = 60_000;

/** @param parts read at each scrape. */
export function openMetrics(base: Base, parts: readonly Part<Db>[]): Metrics {
  const waitMs = base.settings.DB_POOL_WAIT_MS;
  const areOnTime = () => parts.every(({ isOnTime }) => isOnTime?.() ?? true);
  const jobs = createJobFigures(base.clock, () => performance.now(), areOnTime);
  const figures = { requests: createRequestFigures(), jobs };
  const stored = openStoredFigures(base, parts);
  const collect = async (): Promise<string> => {
    const refreshed = parts.map(async ({ refresh }) => {
      if (refresh !== undefined) await within(refresh(), waitMs, () => new Error("timeout"));
    });
    await Promise.all([stored.refresh(), Promise.allSettled(refreshed)]);
    return renderMetrics(parts.flatMap(({ metrics = [] }) => metrics));
  };
  return {
    collect: shareRecent(collect, REUSED_FOR_MS),
    figures,
    metrics: [...stored.metrics, ...figures.requests.metrics, ...figures.jobs.metrics],
  };
}

/**
 * Reads the parts' figures from the database, one query after another on one connection, within DB_POOL_WAIT_MS.
 * However many scrapes come, only one reading is in progress in a database that does not answer.
 */
function openStoredFigures({ database, clock }: Base, parts: readonly Part<Db>[]) {
  let isUp = false;
  let readAt = performance.now();
  let busySince: number | undefined;
  const read = async (db: Db): Promise<void> => {
    busySince = performance.now();
    try {
      const now = clock.now();
      for (const { refreshStored } of parts) await refreshStored?.(db, now);
    } finally {
      busySince = undefined;
    }
  };
  const metrics: readonly Metric[] = [
    {
      name: "svc_database_up",
      type: "gauge",
      help: "1 when the database told its figures for this scrape; while 0, those it told last are shown.",
      labels: [],
      read: () => single(isUp),
    },
    {
      name: "svc_database_figures_age_seconds",
      type: "gauge",
      help: "Age of what is shown from the database; before it has told anything, time since the start.",
      labels: [],
      read: () => single((performance.now() - readAt) / 1_000),
    },
  ];
  return {
    metrics,
    /** Never rejects. */
    async refresh(): Promise<void> {
      isUp = false;
      if (busySince !== undefined && performance.now() - busySince < ABANDON_MS) return;
      try {
        await database.askOwn(read);
        isUp = true;
        readAt = performance.now();
      } catch {
        // The metrics keep the last values, and show their age.
      }
    },
  };
}
