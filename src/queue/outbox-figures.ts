import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { isInState } from "./event-state.ts";

/** How far behind the delivery of events is, over all sinks. */
export interface OutboxFigures {
  /** Neither delivered nor given up, those that are being tried right now among them. */
  readonly pending: number;
  /** Since the oldest pending event was stored; 0 when none is. */
  readonly oldestAgeSeconds: number;
  /** Given up, and kept for a while. */
  readonly dead: number;
}

/**
 * Counts what the outbox holds. It reads the pending and the dead rows alone, through their partial indexes: what was
 * delivered costs nothing.
 *
 * @param now Unix milliseconds.
 */
export async function outboxFigures(db: Db, now: number): Promise<OutboxFigures> {
  // Two aggregates in one pass: min alone would be looked for along created_at, through everything delivered.
  const [row] = await db.execute<{ pending: number; oldest: number | null; dead: number }>(sql`
    select waiting.pending, waiting.oldest,
      (select count(*)::int from ${outboxEvents} where ${isInState("dead")}) as dead
    from (
      select count(*)::int as pending, extract(epoch from min(created_at))::float8 * 1000 as oldest
      from ${outboxEvents}
      where delivered_at is null and dead_at is null
    ) as waiting`);
  if (row === undefined) throw new Error("the outbox gave no figures");
  const { pending, oldest, dead } = row;
  const ageMs = oldest === null ? 0 : Math.max(0, now - oldest);
  return { pending, oldestAgeSeconds: ageMs / 1_000, dead };
}
