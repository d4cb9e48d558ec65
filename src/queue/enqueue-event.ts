import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { randomBase62 } from "../lib/id.ts";
import type { JsonObject } from "../lib/json.ts";
import type { InternalEvent } from "./internal-event.ts";

/** Who events are delivered to: the operator's address, and the parts of the gateway itself. */
export const SINKS = ["alert_webhook", "internal"] as const;

export type Sink = (typeof SINKS)[number];

export type NewEvent =
  | {
      readonly sink: "alert_webhook";
      readonly kind: string;
      /** What the sink is sent. */
      readonly body: JsonObject;
    }
  | ({ readonly sink: "internal" } & InternalEvent);

/**
 * Stores an event, or several in one statement, in the transaction of their cause, so that there is neither without the
 * other. Several are at most a few thousand.
 *
 * @param now Unix milliseconds.
 */
export async function enqueueEvent(
  transaction: Db,
  events: NewEvent | readonly NewEvent[],
  now: number,
): Promise<void> {
  const at = new Date(now);
  const rows = [events].flat().map(({ sink, kind, body }) => ({
    id: `evt_${randomBase62(22)}`,
    sink,
    kind,
    body: { ...body },
    createdAt: at,
    nextAttemptAt: at,
  }));
  if (rows.length > 0) await transaction.insert(outboxEvents).values(rows);
}
