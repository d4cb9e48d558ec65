import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Sink } from "./enqueue-event.ts";

/** An event that this process has the lease of. */
export interface ClaimedEvent {
  readonly id: string;
  readonly kind: string;
  readonly body: JsonObject;
  /** Tries so far, the one it was claimed for among them. */
  readonly attempts: number;
}

/**
 * Takes up to `limit` events that are due, oldest first, for this process alone, until `leaseMs` after their claim; then
 * the process counts as gone. When they are due is a matter of the clock; how long the lease runs one of the database's
 * own time, which all replicas share.
 *
 * @param now Unix milliseconds.
 */
export async function claimEvents(
  db: Db,
  sink: Sink,
  {
    limit,
    now,
    leaseMs,
  }: { readonly limit: number; readonly now: number; readonly leaseMs: number },
): Promise<readonly ClaimedEvent[]> {
  const rows = await db.execute<{ id: string; kind: string; body: JsonObject; attempts: number }>(
    sql`
      with due as materialized (
        select id from ${outboxEvents}
        where sink = ${sink} and delivered_at is null and dead_at is null
          and next_attempt_at <= ${new Date(now).toISOString()}::timestamptz
          and (lease_until is null or lease_until < now())
        order by next_attempt_at
        limit ${limit}
        for update skip locked
      )
      update ${outboxEvents} as event
      set lease_until = now() + make_interval(secs => ${leaseMs / 1_000}), attempts = event.attempts + 1
      from due where event.id = due.id
      returning event.id, event.kind, event.body, event.attempts`,
  );
  return [...rows];
}
