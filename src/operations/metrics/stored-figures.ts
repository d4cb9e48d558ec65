import { and, asc, count, gt, inArray, sql, sum } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { latencyHours, usageSlots } from "../../db/tables/usage.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";
import { outboxFigures, type QueueFigures } from "../../queue/figures.ts";
import { CHANNELS, type Channel } from "../../usage/usage-record.ts";
import { type LatencyFigures, latencyFigures } from "./latency-figures.ts";
import { type PartFigures, type ReadPartFigures, readPartFigures } from "./part-figures.ts";

/** What the database knows: the same at every replica, and after every restart. */
export interface StoredFigures {
  /** Of the last 24 hours, by channel. */
  readonly day: Readonly<Record<DayFigure, Readonly<Record<Channel, number>>>>;
  readonly latency: LatencyFigures;
  readonly apiKeys: Readonly<Record<(typeof KEY_STATES)[number], number>>;
  readonly outbox: QueueFigures;
  readonly parts: PartFigures;
}

type DayFigure = "requests" | "errors" | "rateLimited" | "inputTokens" | "outputTokens";

const KEY_STATES = ["active", "inactive"] as const;
const SLOT_MS = 600_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Reads it on one connection, from sums alone: at most 1,000 slots and 25 hours of the histogram, never rows of usage.
 * A day is every slot that touches the last 24 hours, and for latencies every hour that does.
 *
 * @param now Unix milliseconds.
 */
export async function readStoredFigures(
  db: Db,
  parts: readonly ReadPartFigures[],
  now: number,
): Promise<StoredFigures> {
  return {
    day: await readDay(db, now),
    latency: await readLatency(db, now),
    apiKeys: await countApiKeys(db),
    outbox: await outboxFigures(db, now),
    parts: await readPartFigures(parts, db, now),
  };
}

async function readDay(db: Db, now: number): Promise<StoredFigures["day"]> {
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
  };
}

async function readLatency(db: Db, now: number): Promise<LatencyFigures> {
  const buckets = await db
    .select({
      requests: sql`sum(${latencyHours.requests})`.mapWith(Number),
      latencyMs: sql`sum(${latencyHours.latencyMs})`.mapWith(Number),
    })
    .from(latencyHours)
    .where(gt(latencyHours.hour, new Date(now - DAY_MS - HOUR_MS)))
    .groupBy(latencyHours.bucket)
    .orderBy(asc(latencyHours.bucket));
  return latencyFigures(buckets);
}

async function countApiKeys(db: Db): Promise<StoredFigures["apiKeys"]> {
  const rows = await db
    .select({ state: apiKeys.state, keys: count() })
    .from(apiKeys)
    .groupBy(apiKeys.state);
  const counts = zeroCounts(KEY_STATES);
  for (const { state, keys } of rows) counts[state] = keys;
  return counts;
}
