DROP INDEX "outbox_events_next_attempt_at_index";--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "order_key" text;--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "order_number" bigint;--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "claim" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_events_sink_next_attempt_at_index" ON "outbox_events" USING btree ("sink","next_attempt_at") WHERE "outbox_events"."delivered_at" is null and "outbox_events"."dead_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_events_order_index" ON "outbox_events" USING btree ("sink","order_key","order_number") WHERE "outbox_events"."delivered_at" is null and "outbox_events"."dead_at" is null and "outbox_events"."order_key" is not null;