import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { Sink } from "./enqueue-event.ts";

export interface GivingUp {
  readonly sink: Sink;
  /** Unix milliseconds: only what was due before, for what nobody tries; undefined takes all. */
  readonly dueBefore?: number | undefined;
  /** Short: why, and what to do. */
  readonly reason: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Gives up the pending events of a sink that nobody delivers to any more; what a replica is trying right now is left.
 *
 * @returns how many.
 */
export async function giveUpEvents(
  db: Db,
  { sink, dueBefore, reason, now }: GivingUp,
): Promise<number> {
  const moment = (at: number) => sql`${new Date(at).toISOString()}::timestamptz`;
  const due = dueBefore === undefined ? sql`true` : sql`next_attempt_at < ${moment(dueBefore)}`;
  const rows = await db.execute(sql`
    update ${outboxEvents}
    set dead_at = ${moment(now)}, last_error = ${reason}, lease_until = null
    where sink = ${sink} and delivered_at is null and dead_at is null and ${due}
      and (lease_until is null or lease_until < now())
    returning id`);
  return rows.length;
}
