import { and, desc, eq, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { EVENT_TOPICS, type EventTopic } from "./topic.ts";

/**
 * - `pending`: to be tried, or in progress.
 * - `delivered`.
 * - `dead`: given up.
 */
export const EVENT_STATES = ["pending", "delivered", "dead"] as const;

export type EventState = (typeof EVENT_STATES)[number];

export type StoredEvent = typeof outboxEvents.$inferSelect;

interface EventStore {
  readonly database: Pick<Database, "ask">;
}

export function stateOfEvent({
  deliveredAt,
  deadAt,
}: Pick<StoredEvent, "deliveredAt" | "deadAt">): EventState {
  if (deliveredAt !== null) return "delivered";
  return deadAt === null ? "pending" : "dead";
}

function isInState(state: EventState): SQL | undefined {
  const { deliveredAt, deadAt } = outboxEvents;
  switch (state) {
    case "pending":
      return and(isNull(deliveredAt), isNull(deadAt));
    case "delivered":
      return isNotNull(deliveredAt);
    case "dead":
      // Earlier releases recorded a delivery even when the event had been given up in the meantime.
      return and(isNotNull(deadAt), isNull(deliveredAt));
  }
}

/** Builds the condition for events. Jobs of other topics are not events: the areas that they belong to show them. */
export function isEvent(): SQL {
  return inArray(outboxEvents.sink, [...EVENT_TOPICS]);
}

/** Rejects with `not_found`. */
export async function findEvent({ database }: EventStore, id: string): Promise<StoredEvent> {
  const [event] = await database.ask((db) =>
    db
      .select()
      .from(outboxEvents)
      .where(and(eq(outboxEvents.id, id), isEvent())),
  );
  if (event === undefined) throw unknownEvent();
  return event;
}

export function unknownEvent(): ServiceError {
  return new ServiceError("not_found", "There is no such event.");
}

export interface EventQuery {
  readonly state?: EventState | undefined;
  readonly kind?: string | undefined;
  readonly sink?: EventTopic | undefined;
  /** The id of an event: only events stored before it are listed. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** True when there are earlier events. */
  readonly hasMore: boolean;
}

/** Lists the events that match the query, the newest first. Rejects with `invalid_value` for an unknown `before`. */
export async function listEvents(
  { database }: EventStore,
  { state, kind, sink, before, limit }: EventQuery,
): Promise<EventPage> {
  const found = await database.ask(async (db) => {
    if (before !== undefined) {
      const [seen] = await db
        .select({ id: outboxEvents.id })
        .from(outboxEvents)
        .where(eq(outboxEvents.id, before));
      // The event may have been deleted since: an empty page would look like the end.
      if (seen === undefined) throw unknownCursor();
    }
    return db
      .select()
      .from(outboxEvents)
      .where(
        and(isMeant({ state, kind, sink }), before === undefined ? undefined : isBefore(before)),
      )
      .orderBy(desc(outboxEvents.createdAt), desc(outboxEvents.id))
      .limit(limit + 1);
  });
  return { events: found.slice(0, limit), hasMore: found.length > limit };
}

/** Builds the condition for events that match all filters; without a sink, events of every topic. */
export function isMeant({
  state,
  kind,
  sink,
}: Pick<EventQuery, "state" | "kind" | "sink">): SQL | undefined {
  return and(
    state && isInState(state),
    kind === undefined ? undefined : eq(outboxEvents.kind, kind),
    sink === undefined ? isEvent() : eq(outboxEvents.sink, sink),
  );
}

/** Events of the same moment are ordered by their ids. */
function isBefore(id: string): SQL {
  return sql`(${outboxEvents.createdAt}, ${outboxEvents.id})
    < (select created_at, id from ${outboxEvents} as seen where seen.id = ${id})`;
}

function unknownCursor(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "'before' is invalid: expected the id of an event that is still kept; begin without it.",
    { param: "before" },
  );
}
