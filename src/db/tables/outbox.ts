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

/** What is to be told to somebody outside, stored with its cause in one transaction and delivered at least once. */
export const outboxEvents = pgTable(
  "outbox_events",
  {
    /** `evt_` and 22 base62 characters; the receiver's `webhook-id`, the same at every try. */
    id: text("id").primaryKey(),
    /** Who is to have it: `alert_webhook`, or `internal` for what the gateway itself acts on. */
    sink: text("sink").notNull(),
    kind: text("kind").notNull(),
    body: jsonb("body").$type<JsonObject>().notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    attempts: integer("attempts").notNull().default(0),
    /** Not to be tried before. */
    nextAttemptAt: moment("next_attempt_at").notNull().defaultNow(),
    /** A replica is trying it until then. */
    leaseUntil: moment("lease_until"),
    deliveredAt: moment("delivered_at"),
    /** Given up. */
    deadAt: moment("dead_at"),
    lastError: text("last_error"),
  },
  (table) => [
    // What is done with is no longer looked at.
    index("outbox_events_next_attempt_at_index")
      .on(table.nextAttemptAt)
      .where(sql`${table.deliveredAt} is null and ${table.deadAt} is null`),
    index("outbox_events_dead_at_index").on(table.deadAt).where(sql`${table.deadAt} is not null`),
    index("outbox_events_created_at_index").on(table.createdAt, table.id),
  ],
);

/** When an alert was last sent about a subject. Taken by a conditional update, so that of several replicas one sends. */
export const alertSuppressions = pgTable(
  "alert_suppressions",
  {
    type: text("type").notNull(),
    subject: text("subject").notNull(),
    lastSentAt: moment("last_sent_at").notNull(),
    /** How often since the first. */
    count: bigint("count", { mode: "number" }).notNull().default(1),
  },
  (table) => [primaryKey({ columns: [table.type, table.subject] })],
);
