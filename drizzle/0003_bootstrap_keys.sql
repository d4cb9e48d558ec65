CREATE TABLE "bootstrap_keys" (
	"key_hash" text PRIMARY KEY NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "limit_refusals_key_id_hour_index" ON "limit_refusals" USING btree ("key_id","hour");