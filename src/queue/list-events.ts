import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { Sink } from "./enqueue-event.ts";
import { type EventState, isInState, type StoredEvent } from "./event-state.ts";

export interface EventQuery {
  readonly state?: EventState | undefined;
  readonly kind?: string | undefined;
  readonly sink?: Sink | undefined;
  /** The id of an event: those that were stored before it alone. */
  readonly before?: string | undefined;
  readonly limit: number;
}

export interface EventPage {
  readonly events: readonly StoredEvent[];
  /** There are earlier ones. */
  readonly hasMore: boolean;
}

/** Events of the outbox that meet all of a query, the newest first. Rejects with `invalid_value` for an unknown `before`. */
export async function listEvents(
  { database }: { readonly database: Pick<Database, "ask"> },
  query: EventQuery,
): Promise<EventPage> {
  const { state, kind, sink, before, limit } = query;
  const found = await database.ask(async (db) => {
    if (before !== undefined) {
      const [seen] = await db
        .select({ id: outboxEvents.id })
        .from(outboxEvents)
        .where(eq(outboxEvents.id, before));
      // It may have been deleted since: an empty page would look like the end.
      if (seen === undefined) throw unknownCursor();
    }
    return db
      .select()
      .from(outboxEvents)
      .where(
        and(
          state && isInState(state),
          kind === undefined ? undefined : eq(outboxEvents.kind, kind),
          sink && eq(outboxEvents.sink, sink),
          before === undefined ? undefined : isBefore(before),
        ),
      )
      .orderBy(desc(outboxEvents.createdAt), desc(outboxEvents.id))
      .limit(limit + 1);
  });
  return { events: found.slice(0, limit), hasMore: found.length > limit };
}

/** Two events of one moment are in the order of their ids. */
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
