import { sql } from "drizzle-orm";
import {
  bigint,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
} from "drizzle-orm/pg-core";
import type { JsonObject } from "../../lib/json.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/** Events for receivers, stored in the same transaction as their cause and delivered at least once. */
export const outboxEvents = pgTable(
  "outbox_events",
  {
    /** `evt_` and 22 base62 characters; the receiver's `webhook-id`, the same at every try. */
    id: text("id").primaryKey(),
    /** The receiver: `alert_webhook`, or `internal` for events that the gateway itself handles. */
    sink: text("sink").notNull(),
    kind: text("kind").notNull(),
    body: jsonb("body").$type<JsonObject>().notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    attempts: integer("attempts").notNull().default(0),
    /** The earliest time of the next attempt. */
    nextAttemptAt: moment("next_attempt_at").notNull().defaultNow(),
    /** Until then one replica owns the delivery attempt. */
    leaseUntil: moment("lease_until"),
    deliveredAt: moment("delivered_at"),
    /** When delivery was given up. */
    deadAt: moment("dead_at"),
    lastError: text("last_error"),
  },
  (table) => [
    // Partial, because finished events are never read again.
    index("outbox_events_next_attempt_at_index")
      .on(table.nextAttemptAt)
      .where(sql`${table.deliveredAt} is null and ${table.deadAt} is null`),
    index("outbox_events_dead_at_index").on(table.deadAt).where(sql`${table.deadAt} is not null`),
    index("outbox_events_created_at_index").on(table.createdAt, table.id),
  ],
);

/**
 * When an alert about a subject was last sent. Claimed by a conditional update, so that only one of several replicas
 * sends it.
 */
export const alertSuppressions = pgTable(
  "alert_suppressions",
  {
    type: text("type").notNull(),
    subject: text("subject").notNull(),
    lastSentAt: moment("last_sent_at").notNull(),
    /** The number of alerts since the first. */
    count: bigint("count", { mode: "number" }).notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.type, table.subject] })],
);
