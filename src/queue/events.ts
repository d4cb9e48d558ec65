import { and, desc, eq, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
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

/** Bytes of bodies on a page. The event that exceeds it is the last one. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** Events that are read before their bytes are known. */
const PORTION_ROWS = 64;

type Place = Pick<StoredEvent, "id" | "createdAt">;

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

/**
 * Lists the events that match the query, the newest first. A page ends early once its bodies have several megabytes,
 * because a thousand messages of workflows may have hundreds. Rejects with `invalid_value` for an unknown `before`.
 */
export function listEvents(
  { database }: EventStore,
  { before, limit, ...filters }: EventQuery,
): Promise<EventPage> {
  return database.ask(async (db) => {
    let place = before === undefined ? undefined : await findPlace(db, before);
    const events: StoredEvent[] = [];
    const fits = pageOf(limit);
    for (;;) {
      const wanted = Math.min(PORTION_ROWS, limit + 1 - events.length);
      const found = await readPortion(db, and(isMeant(filters), place && isBefore(place)), wanted);
      for (const event of found) {
        if (!fits(event)) return { events, hasMore: true };
        events.push(event);
      }
      if (found.length < wanted) return { events, hasMore: false };
      place = found.at(-1);
    }
  });
}

/** Returns whether one event after another still fits on a page; the first one always does. */
function pageOf(limit: number): (event: StoredEvent) => boolean {
  let events = 0;
  let bytes = 0;
  return ({ body }) => {
    if (events === limit || bytes >= PAGE_BYTES) return false;
    events += 1;
    bytes += JSON.stringify(body).length;
    return true;
  };
}

function readPortion(db: Db, condition: SQL | undefined, rows: number): Promise<StoredEvent[]> {
  return db
    .select()
    .from(outboxEvents)
    .where(condition)
    .orderBy(desc(outboxEvents.createdAt), desc(outboxEvents.id))
    .limit(rows);
}

/** Finds the place of an event in the list. */
async function findPlace(db: Db, id: string): Promise<Place> {
  const [seen] = await db
    .select({ id: outboxEvents.id, createdAt: outboxEvents.createdAt })
    .from(outboxEvents)
    .where(eq(outboxEvents.id, id));
  // The event may have been deleted since: an empty page would look like the end.
  if (seen === undefined) throw unknownCursor();
  return seen;
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
function isBefore({ createdAt, id }: Place): SQL {
  return sql`(${outboxEvents.createdAt}, ${outboxEvents.id})
    < (${createdAt.toISOString()}::timestamptz, ${id}::text)`;
}

function unknownCursor(): ServiceError {
  return new ServiceError(
    "invalid_value",
    "'before' is invalid: expected the id of an event that is still kept; begin without it.",
    { param: "before" },
  );
}
