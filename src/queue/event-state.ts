import { and, isNotNull, isNull, type SQL } from "drizzle-orm";
import { outboxEvents } from "../db/tables/outbox.ts";

/** - `pending`: to be tried, or being tried. - `delivered`. - `dead`: given up. */
export const EVENT_STATES = ["pending", "delivered", "dead"] as const;

export type EventState = (typeof EVENT_STATES)[number];

export type StoredEvent = typeof outboxEvents.$inferSelect;

export function stateOfEvent({
  deliveredAt,
  deadAt,
}: Pick<StoredEvent, "deliveredAt" | "deadAt">): EventState {
  if (deliveredAt !== null) return "delivered";
  return deadAt === null ? "pending" : "dead";
}

export function isInState(state: EventState): SQL | undefined {
  const { deliveredAt, deadAt } = outboxEvents;
  switch (state) {
    case "pending":
      return and(isNull(deliveredAt), isNull(deadAt));
    case "delivered":
      return isNotNull(deliveredAt);
    case "dead":
      // One that was given up here and had arrived all the same is delivered.
      return and(isNotNull(deadAt), isNull(deliveredAt));
  }
}
