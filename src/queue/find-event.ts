import { eq } from "drizzle-orm";
import { ServiceError } from "../core/service-error.ts";
import type { Database } from "../db/database.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import type { StoredEvent } from "./event-state.ts";

/** Rejects with `not_found`. */
export async function findEvent(
  { database }: { readonly database: Pick<Database, "ask"> },
  id: string,
): Promise<StoredEvent> {
  const [event] = await database.ask((db) =>
    db.select().from(outboxEvents).where(eq(outboxEvents.id, id)),
  );
  if (event === undefined) throw unknownEvent();
  return event;
}

export function unknownEvent(): ServiceError {
  return new ServiceError("not_found", "There is no such event.");
}
