ALTER TABLE "usage_records" ADD COLUMN "extra_charge" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "usage_hours" ADD COLUMN "extra_charge" bigint DEFAULT 0 NOT NULL;