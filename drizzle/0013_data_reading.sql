CREATE TABLE "bi_statements" (
	"day" date NOT NULL,
	"id" text NOT NULL,
	"principal_id" text NOT NULL,
	"via" text NOT NULL,
	"statement" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"milliseconds" bigint NOT NULL,
	"rows" bigint NOT NULL,
	"bytes" bigint NOT NULL,
	"outcome" text NOT NULL,
	"code" text,
	CONSTRAINT "bi_statements_day_id_pk" PRIMARY KEY("day","id")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "bi_statements_other" PARTITION OF "bi_statements" DEFAULT;
--> statement-breakpoint
ALTER TABLE "bi_keys" ADD COLUMN "row_limit" bigint DEFAULT 1000000 NOT NULL;--> statement-breakpoint
ALTER TABLE "bi_keys" ADD COLUMN "timeout_seconds" integer DEFAULT 30 NOT NULL;--> statement-breakpoint
ALTER TABLE "bi_keys" ADD COLUMN "max_connections" integer DEFAULT 10 NOT NULL;--> statement-breakpoint
CREATE INDEX "bi_statements_started_at_index" ON "bi_statements" USING btree ("started_at","id");--> statement-breakpoint
CREATE INDEX "bi_statements_principal_id_index" ON "bi_statements" USING btree ("principal_id","started_at","id");
