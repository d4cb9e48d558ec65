import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { Sink } from "./enqueue-event.ts";

/** The events of one sink that have waited for long. */
export interface OverdueEvents {
  readonly sink: Sink;
  readonly count: number;
  /** Unix milliseconds. */
  readonly oldestCreatedAt: number;
}

/**
 * The events stored before a moment that are neither delivered nor given up, by sink. It reads the pending ones alone.
 *
 * @param before Unix milliseconds.
 * @param exceptKind is left out, whatever its age.
 */
export async function overdueEvents(
  db: Db,
  before: number,
  exceptKind: string,
): Promise<readonly OverdueEvents[]> {
  const rows = await db.execute<{ sink: Sink; count: number; oldest: number }>(sql`
    select sink, count(*)::int as count, extract(epoch from min(created_at))::float8 * 1000 as oldest
    from ${outboxEvents}
    where delivered_at is null and dead_at is null and kind <> ${exceptKind}
      and created_at < ${new Date(before).toISOString()}::timestamptz
    group by sink
    order by sink`);
  return rows.map(({ sink, count, oldest }) => ({ sink, count, oldestCreatedAt: oldest }));
}
