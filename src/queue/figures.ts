import { inArray, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import {
  EVENT_TOPICS,
  type EventTopic,
  type JobOutcome,
  type ResultCounts,
  TRY_RESULTS,
} from "./topic.ts";

/** The tries of this process to deliver events, by topic. */
export type DeliveryFigures = Readonly<Record<EventTopic, ResultCounts>>;

export function createDeliveryFigures(): DeliveryFigures {
  return {
    alert_webhook: zeroCounts(TRY_RESULTS),
    internal: zeroCounts(TRY_RESULTS),
    workflow_notify: zeroCounts(TRY_RESULTS),
  };
}

/** @param isLast the job is not retried. */
export function countOutcome(counts: ResultCounts, { kind }: JobOutcome, isLast: boolean): void {
  if (kind === "done") counts.delivered += 1;
  else if (kind === "refused" || (kind === "failed" && isLast)) counts.given_up += 1;
  else if (kind === "failed") counts.failed += 1;
}

/** The queue's contents. */
export interface QueueFigures {
  /** Neither done nor given up, including those in progress. */
  readonly pending: number;
  /** Age of the oldest pending job; 0 without one. */
  readonly oldestAgeSeconds: number;
  /** Given up, and kept for a while. */
  readonly dead: number;
}

/**
 * Counts the jobs of each topic that has any. It reads only pending and dead rows, through their partial indexes, so
 * finished jobs cost nothing.
 * @param now Unix milliseconds.
 */
export async function queueFigures(
  db: Db,
  now: number,
): Promise<ReadonlyMap<string, QueueFigures>> {
  const rows = await db.execute<{
    sink: string;
    pending: number;
    oldest: number | null;
    dead: number;
  }>(sql`
    select sink, sum(pending)::int as pending, min(oldest) as oldest, sum(dead)::int as dead
    from (
      select sink, count(*) as pending, extract(epoch from min(created_at))::float8 * 1000 as oldest, 0 as dead
      from ${outboxEvents} where delivered_at is null and dead_at is null group by sink
      union all
      select sink, 0, null, count(*)
      from ${outboxEvents} where dead_at is not null and delivered_at is null group by sink
    ) as parts
    group by sink`);
  return new Map(
    rows.map(({ sink, pending, oldest, dead }) => {
      const ageMs = oldest === null ? 0 : Math.max(0, now - oldest);
      return [sink, { pending, oldestAgeSeconds: ageMs / 1_000, dead }];
    }),
  );
}

/** Counts the jobs of all event topics. */
export async function outboxFigures(db: Db, now: number): Promise<QueueFigures> {
  const figures = await queueFigures(db, now);
  const none: QueueFigures = { pending: 0, oldestAgeSeconds: 0, dead: 0 };
  return EVENT_TOPICS.map((topic) => figures.get(topic) ?? none).reduce((sum, one) => ({
    pending: sum.pending + one.pending,
    oldestAgeSeconds: Math.max(sum.oldestAgeSeconds, one.oldestAgeSeconds),
    dead: sum.dead + one.dead,
  }));
}

/** The events of one topic that have waited for a long time. */
export interface OverdueEvents {
  readonly sink: string;
  readonly count: number;
  /** Unix milliseconds. */
  readonly oldestCreatedAt: number;
}

/**
 * Counts the jobs stored before a moment that are neither done nor given up, by topic.
 * @param before Unix milliseconds.
 * @param exceptKind is left out, whatever its age.
 */
export async function overdueEvents(
  db: Db,
  before: number,
  exceptKind: string,
  topics: readonly string[] = EVENT_TOPICS,
): Promise<readonly OverdueEvents[]> {
  const rows = await db.execute<{ sink: string; count: number; oldest: number }>(sql`
    select sink, count(*)::int as count, extract(epoch from min(created_at))::float8 * 1000 as oldest
    from ${outboxEvents}
    where delivered_at is null and dead_at is null and kind <> ${exceptKind}
      and created_at < ${new Date(before).toISOString()}::timestamptz
      and ${inArray(outboxEvents.sink, [...topics])}
    group by sink
    order by sink`);
  return rows.map(({ sink, count, oldest }) => ({ sink, count, oldestCreatedAt: oldest }));
}
