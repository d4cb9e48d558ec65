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
  uniqueIndex,
} from "drizzle-orm/pg-core";
import type { JsonObject } from "../../lib/json/json.ts";

const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

/**
 * The jobs of the queue, stored with their cause in one transaction and done at least once. Events are the jobs whose
 * topics deliver something.
 */
export const outboxEvents = pgTable(
  "outbox_events",
  {
    /** `evt_` and 22 base62 characters; the `webhook-id` of a webhook, the same at every try. */
    id: text("id").primaryKey(),
    /** The topic: `alert_webhook`, `internal` for events inside the gateway, or the name of another kind of work. */
    sink: text("sink").notNull(),
    kind: text("kind").notNull(),
    body: jsonb("body").$type<JsonObject>().notNull(),
    createdAt: moment("created_at").notNull().defaultNow(),
    attempts: integer("attempts").notNull().default(0),
    /** The earliest time of the next attempt. */
    nextAttemptAt: moment("next_attempt_at").notNull().defaultNow(),
    /** A worker has claimed the job until then, by the database's time. */
    leaseUntil: moment("lease_until"),
    deliveredAt: moment("delivered_at"),
    /** When delivery was given up. */
    deadAt: moment("dead_at"),
    lastError: text("last_error"),
    /** Jobs of a topic with the same key run one at a time. */
    orderKey: text("order_key"),
    /** Their order: of the pending jobs of a key the lowest number is next. Null without a key. */
    orderNumber: bigint("order_number", { mode: "number" }),
    /** The fencing token: it grows with each claim and never falls. */
    claim: bigint("claim", { mode: "number" }).notNull().default(0),
  },
  (table) => {
    const isPending = sql`${table.deliveredAt} is null and ${table.deadAt} is null`;
    return [
      // By topic, so that a long backlog of one topic does not slow the claims of another.
      index("outbox_events_sink_next_attempt_at_index")
        .on(table.sink, table.nextAttemptAt)
        .where(isPending),
      uniqueIndex("outbox_events_order_index")
        .on(table.sink, table.orderKey, table.orderNumber)
        .where(sql`${isPending} and ${table.orderKey} is not null`),
      index("outbox_events_dead_at_index").on(table.deadAt).where(sql`${table.deadAt} is not null`),
      index("outbox_events_created_at_index").on(table.createdAt, table.id),
    ];
  },
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
