import { and, eq, isNull, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { ClaimedEvent } from "./claim-events.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";

export interface DeliveryRecord {
  readonly outcome: DeliveryOutcome;
  /** Unix milliseconds of the next try; undefined when there is to be none. */
  readonly nextAttemptAt: number | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Writes down how a try ended and gives the lease back. What is delivered is so for good; anything else counts only
 * while nobody else has claimed the event since.
 */
export async function recordDelivery(
  db: Db,
  { id, attempts }: ClaimedEvent,
  { outcome, nextAttemptAt, now }: DeliveryRecord,
): Promise<void> {
  const { deliveredAt } = outboxEvents;
  const isOurs = eq(outboxEvents.attempts, attempts);
  const change = () => {
    if (outcome.kind === "delivered") return { deliveredAt: new Date(now), lastError: null };
    if (outcome.kind === "untried") return { attempts: sql`${outboxEvents.attempts} - 1` };
    if (nextAttemptAt === undefined) return { deadAt: new Date(now), lastError: outcome.error };
    return { nextAttemptAt: new Date(nextAttemptAt), lastError: outcome.error };
  };
  await db
    .update(outboxEvents)
    .set({ leaseUntil: null, ...change() })
    .where(
      and(
        eq(outboxEvents.id, id),
        isNull(deliveredAt),
        outcome.kind === "delivered" ? undefined : isOurs,
      ),
    );
}
