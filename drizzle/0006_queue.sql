CREATE TABLE "watched_folders" (
	"folder" text PRIMARY KEY NOT NULL,
	"inode" bigint,
	"named_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
DROP INDEX "outbox_events_next_attempt_at_index";--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "order_key" text;--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "order_number" bigint;--> statement-breakpoint
ALTER TABLE "outbox_events" ADD COLUMN "claim" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_events_sink_next_attempt_at_index" ON "outbox_events" USING btree ("sink","next_attempt_at") WHERE "outbox_events"."delivered_at" is null and "outbox_events"."dead_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_events_order_index" ON "outbox_events" USING btree ("sink","order_key","order_number") WHERE "outbox_events"."delivered_at" is null and "outbox_events"."dead_at" is null and "outbox_events"."order_key" is not null;--> statement-breakpoint
-- The row "/" of a folder held its inode as a size, and when it was last named as a time. A folder without one was not read to its end.
INSERT INTO "watched_folders" ("folder", "inode", "named_at")
	SELECT "folder", max("size") FILTER (WHERE "path" = '/'), coalesce(max("modified_at") FILTER (WHERE "path" = '/'), now())
	FROM "watched_files" GROUP BY "folder";--> statement-breakpoint
DELETE FROM "watched_files" WHERE "path" = '/';
