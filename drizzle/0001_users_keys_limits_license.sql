CREATE TABLE "audit_log" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor_id" text,
	"actor_name" text,
	"via" text NOT NULL,
	"credential_id" text,
	"address" text,
	"request_id" text,
	"action" text NOT NULL,
	"target_kind" text NOT NULL,
	"target_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "bi_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"last_four" text NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"owner_id" text NOT NULL,
	"datasets" text[] DEFAULT '{}' NOT NULL,
	"ip_allow" text[] DEFAULT '{}' NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "bi_keys_key_hash_unique" UNIQUE("key_hash"),
	CONSTRAINT "bi_keys_state_is_known" CHECK ("bi_keys"."state" in ('active', 'inactive'))
);
--> statement-breakpoint
CREATE TABLE "uploaded_license" (
	"is_only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"text" text NOT NULL,
	"uploaded_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"uploaded_by" text,
	"change_seq" bigint NOT NULL,
	CONSTRAINT "uploaded_license_has_one_row" CHECK ("uploaded_license"."is_only_row")
);
--> statement-breakpoint
CREATE TABLE "alert_suppressions" (
	"type" text NOT NULL,
	"subject" text NOT NULL,
	"last_sent_at" timestamp (3) with time zone NOT NULL,
	"count" bigint DEFAULT 1 NOT NULL,
	CONSTRAINT "alert_suppressions_type_subject_pk" PRIMARY KEY("type","subject")
);
--> statement-breakpoint
CREATE TABLE "outbox_events" (
	"id" text PRIMARY KEY NOT NULL,
	"sink" text NOT NULL,
	"kind" text NOT NULL,
	"body" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"delivered_at" timestamp (3) with time zone,
	"dead_at" timestamp (3) with time zone,
	"last_error" text
);
--> statement-breakpoint
CREATE TABLE "usage_hours" (
	"hour" timestamp with time zone NOT NULL,
	"key_id" text NOT NULL,
	"model" text NOT NULL,
	"channel" text NOT NULL,
	"requests" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	CONSTRAINT "usage_hours_hour_key_id_model_channel_pk" PRIMARY KEY("hour","key_id","model","channel")
);
--> statement-breakpoint
CREATE TABLE "usage_months" (
	"key_id" text NOT NULL,
	"month" date NOT NULL,
	"requests" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	CONSTRAINT "usage_months_key_id_month_pk" PRIMARY KEY("key_id","month")
);
--> statement-breakpoint
CREATE TABLE "login_failures" (
	"subject" text PRIMARY KEY NOT NULL,
	"failures" bigint NOT NULL,
	"last_failed_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"token_hash" text NOT NULL,
	"user_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"address" text,
	CONSTRAINT "sessions_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_key_hash" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "previous_expires_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "device_id" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "latest_seen_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "latest_seen_seal" text;--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "setting_hashes" jsonb;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "state" text DEFAULT 'active' NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "must_change_password" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "last_login_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "bi_keys" ADD CONSTRAINT "bi_keys_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_at_id_index" ON "audit_log" USING btree ("at","id");--> statement-breakpoint
CREATE INDEX "audit_log_actor_id_at_id_index" ON "audit_log" USING btree ("actor_id","at","id");--> statement-breakpoint
CREATE INDEX "audit_log_target_id_at_id_index" ON "audit_log" USING btree ("target_id","at","id");--> statement-breakpoint
CREATE INDEX "audit_log_target_kind_at_id_index" ON "audit_log" USING btree ("target_kind","at","id");--> statement-breakpoint
CREATE INDEX "audit_log_action_at_id_index" ON "audit_log" USING btree ("action" text_pattern_ops,"at","id");--> statement-breakpoint
CREATE INDEX "bi_keys_owner_id_index" ON "bi_keys" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "outbox_events_next_attempt_at_index" ON "outbox_events" USING btree ("next_attempt_at") WHERE "outbox_events"."delivered_at" is null and "outbox_events"."dead_at" is null;--> statement-breakpoint
CREATE INDEX "usage_hours_key_id_hour_index" ON "usage_hours" USING btree ("key_id","hour");--> statement-breakpoint
CREATE INDEX "sessions_user_id_index" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_at_index" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_previous_key_hash_unique" UNIQUE("previous_key_hash");--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_state_is_known" CHECK ("users"."state" in ('active', 'disabled'));--> statement-breakpoint
INSERT INTO "usage_hours" ("hour", "key_id", "model", "channel", "requests", "failures", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
	SELECT date_trunc('hour', "started_at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', "key_id", "model", "channel", count(*),
		count(*) FILTER (WHERE "outcome" IN ('error', 'rate_limited')), sum("input_tokens"), sum("output_tokens"), sum("cached_tokens"), sum("reasoning_tokens")
	FROM "usage_records" GROUP BY 1, 2, 3, 4;--> statement-breakpoint
INSERT INTO "usage_months" ("key_id", "month", "requests", "tokens")
	SELECT "key_id", date_trunc('month', "started_at" AT TIME ZONE 'UTC')::date, count(*), sum("input_tokens" + "output_tokens")
	FROM "usage_records" GROUP BY 1, 2;--> statement-breakpoint
CREATE FUNCTION "refuse_audit_log_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the audit log is only added to';
END $$;--> statement-breakpoint
CREATE TRIGGER "audit_log_is_only_added_to" BEFORE UPDATE OR DELETE ON "audit_log"
	FOR EACH STATEMENT EXECUTE FUNCTION "refuse_audit_log_change"();
