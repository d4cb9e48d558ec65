import { and, asc, gt, inArray, lte, sql, sum } from "drizzle-orm";
import { CHANNELS, type Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import { latencyHours, usageSlots } from "../../db/tables/usage.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { type LatencyFigures, latencyFigures } from "./latency-figures.ts";

/** The calls of the last 24 hours: the same on every replica and after every restart. */
export interface DayFigures extends Readonly<Record<DayFigure, Readonly<Record<Channel, number>>>> {
  readonly latency: LatencyFigures;
}

type DayFigure = "requests" | "errors" | "rateLimited" | "inputTokens" | "outputTokens";

const SLOT_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Reads at most 1,000 slots and 25 hours of the histogram, never rows of usage. A day is every slot that overlaps the
 * last 24 hours, and for latencies every hour that does.
 * @param now Unix milliseconds.
 */
export async function readDayFigures(db: Db, now: number): Promise<DayFigures> {
  const rows = await db
    .select({
      channel: usageSlots.channel,
      requests: sum(usageSlots.requests),
      errors: sum(usageSlots.errors),
      rateLimited: sum(usageSlots.rateLimited),
      inputTokens: sum(usageSlots.inputTokens),
      outputTokens: sum(usageSlots.outputTokens),
    })
    .from(usageSlots)
    .where(
      and(
        gt(usageSlots.slot, new Date(now - DAY_MS - SLOT_MS)),
        // The clock may have been ahead.
        lte(usageSlots.slot, new Date(now)),
        inArray(usageSlots.channel, [...CHANNELS]),
      ),
    )
    .groupBy(usageSlots.channel);
  const figure = (name: DayFigure): Record<Channel, number> => {
    const counts = zeroCounts(CHANNELS);
    for (const row of rows) counts[row.channel] = Number(row[name]);
    return counts;
  };
  return {
    requests: figure("requests"),
    errors: figure("errors"),
    rateLimited: figure("rateLimited"),
    inputTokens: figure("inputTokens"),
    outputTokens: figure("outputTokens"),
    latency: await readLatency(db, now),
  };
}

async function readLatency(db: Db, now: number): Promise<LatencyFigures> {
  const buckets = await db
    .select({
      requests: sql`sum(${latencyHours.requests})`.mapWith(Number),
      latencyMs: sql`sum(${latencyHours.latencyMs})`.mapWith(Number),
    })
    .from(latencyHours)
    .where(
      and(
        gt(latencyHours.hour, new Date(now - DAY_MS - HOUR_MS)),
        lte(latencyHours.hour, new Date(now)),
      ),
    )
    .groupBy(latencyHours.bucket)
    .orderBy(asc(latencyHours.bucket));
  return latencyFigures(buckets);
}
