CREATE TABLE "latency_hours" (
	"hour" timestamp with time zone NOT NULL,
	"bucket" integer NOT NULL,
	"requests" bigint NOT NULL,
	"latency_ms" bigint NOT NULL,
	CONSTRAINT "latency_hours_hour_bucket_pk" PRIMARY KEY("hour","bucket")
);
--> statement-breakpoint
CREATE TABLE "limit_refusals" (
	"hour" timestamp with time zone NOT NULL,
	"key_id" text NOT NULL,
	"channel" text NOT NULL,
	"code" text NOT NULL,
	"refusals" bigint NOT NULL,
	CONSTRAINT "limit_refusals_hour_key_id_channel_code_pk" PRIMARY KEY("hour","key_id","channel","code")
);
--> statement-breakpoint
CREATE TABLE "usage_days" (
	"day" timestamp with time zone NOT NULL,
	"key_id" text NOT NULL,
	"model" text NOT NULL,
	"channel" text NOT NULL,
	"requests" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"rate_limited" bigint DEFAULT 0 NOT NULL,
	"aborted" bigint DEFAULT 0 NOT NULL,
	"latency_ms" bigint DEFAULT 0 NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	CONSTRAINT "usage_days_day_key_id_model_channel_pk" PRIMARY KEY("day","key_id","model","channel")
);
--> statement-breakpoint
CREATE TABLE "usage_slots" (
	"slot" timestamp with time zone NOT NULL,
	"channel" text NOT NULL,
	"requests" bigint NOT NULL,
	"errors" bigint NOT NULL,
	"rate_limited" bigint NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	CONSTRAINT "usage_slots_slot_channel_pk" PRIMARY KEY("slot","channel")
);
--> statement-breakpoint
CREATE TABLE "watched_files" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"size" bigint NOT NULL,
	"modified_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "watched_files_folder_path_pk" PRIMARY KEY("folder","path")
);
--> statement-breakpoint
DROP INDEX "usage_records_started_at_index";--> statement-breakpoint
DROP INDEX "usage_records_key_id_started_at_index";--> statement-breakpoint
ALTER TABLE "usage_records" RENAME TO "usage_records_before";--> statement-breakpoint
CREATE TABLE "usage_records" (LIKE "usage_records_before" INCLUDING DEFAULTS) PARTITION BY RANGE ("started_at");--> statement-breakpoint
CREATE TABLE "usage_records_other" PARTITION OF "usage_records" DEFAULT;--> statement-breakpoint
ALTER TABLE "usage_records" ADD CONSTRAINT "usage_records_id_started_at_pk" PRIMARY KEY("id","started_at");--> statement-breakpoint
DO $$
DECLARE
	day date;
BEGIN
	-- Older days stay together: each partition is locked until the end, and there is room for so many locks.
	FOR day IN SELECT DISTINCT ("started_at" AT TIME ZONE 'UTC')::date FROM "usage_records_before" ORDER BY 1 DESC LIMIT 120 LOOP
		EXECUTE format('CREATE TABLE %I PARTITION OF "usage_records" FOR VALUES FROM (%L) TO (%L)',
			'usage_records_' || to_char(day, 'YYYYMMDD'), day || ' 00:00:00+00', (day + 1) || ' 00:00:00+00');
	END LOOP;
END $$;--> statement-breakpoint
INSERT INTO "usage_records" SELECT * FROM "usage_records_before";--> statement-breakpoint
DROP TABLE "usage_records_before";--> statement-breakpoint
CREATE INDEX "usage_records_started_at_index" ON "usage_records" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "usage_records_key_id_started_at_index" ON "usage_records" USING btree ("key_id","started_at");--> statement-breakpoint
ALTER TABLE "usage_hours" ADD COLUMN "rate_limited" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_hours" ADD COLUMN "aborted" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_hours" ADD COLUMN "latency_ms" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_events_dead_at_index" ON "outbox_events" USING btree ("dead_at") WHERE "outbox_events"."dead_at" is not null;--> statement-breakpoint
CREATE INDEX "outbox_events_created_at_index" ON "outbox_events" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "usage_records_model_started_at_index" ON "usage_records" USING btree ("model","started_at");--> statement-breakpoint
CREATE INDEX "usage_records_outcome_started_at_index" ON "usage_records" USING btree ("outcome","started_at") WHERE "usage_records"."outcome" <> 'ok';--> statement-breakpoint
UPDATE "usage_hours" AS present SET "rate_limited" = sums.rate_limited, "aborted" = sums.aborted, "latency_ms" = sums.latency_ms
	FROM (
		SELECT date_trunc('hour', "started_at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS hour, "key_id", "model", "channel",
			count(*) FILTER (WHERE "outcome" = 'rate_limited') AS rate_limited,
			count(*) FILTER (WHERE "outcome" = 'aborted') AS aborted, sum("latency_ms") AS latency_ms
		FROM "usage_records" GROUP BY 1, 2, 3, 4
	) AS sums
	WHERE present."hour" = sums.hour AND present."key_id" = sums."key_id" AND present."model" = sums."model" AND present."channel" = sums."channel";--> statement-breakpoint
INSERT INTO "usage_days" ("day", "key_id", "model", "channel", "requests", "failures", "rate_limited", "aborted", "latency_ms", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
	SELECT date_trunc('day', "hour" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', "key_id", "model", "channel", sum("requests"), sum("failures"), sum("rate_limited"), sum("aborted"),
		sum("latency_ms"), sum("input_tokens"), sum("output_tokens"), sum("cached_tokens"), sum("reasoning_tokens")
	FROM "usage_hours" GROUP BY 1, 2, 3, 4;--> statement-breakpoint
CREATE INDEX "usage_days_key_id_day_index" ON "usage_days" USING btree ("key_id","day");--> statement-breakpoint
INSERT INTO "usage_slots" ("slot", "channel", "requests", "errors", "rate_limited", "input_tokens", "output_tokens")
	SELECT to_timestamp(floor(extract(epoch FROM "started_at") / 600) * 600), "channel", count(*), count(*) FILTER (WHERE "outcome" = 'error'),
		count(*) FILTER (WHERE "outcome" = 'rate_limited'), sum("input_tokens"), sum("output_tokens")
	FROM "usage_records" GROUP BY 1, 2;--> statement-breakpoint
INSERT INTO "latency_hours" ("hour", "bucket", "requests", "latency_ms")
	SELECT date_trunc('hour', "started_at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', round(50 * ln(1 + greatest("latency_ms", 0)))::int, count(*), sum("latency_ms")
	FROM "usage_records" GROUP BY 1, 2;
