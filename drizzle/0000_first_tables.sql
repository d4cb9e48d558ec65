CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"key_hash" text NOT NULL,
	"last_four" text NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"owner_id" text NOT NULL,
	"assistant_id" text,
	"passthrough" boolean DEFAULT false NOT NULL,
	"max_level" text DEFAULT 'read_only' NOT NULL,
	"tool_scope" jsonb DEFAULT '{"tools":[],"sql_connections":[]}'::jsonb NOT NULL,
	"monthly_token_limit" bigint,
	"request_limit" bigint,
	"rpm_limit" bigint,
	"token_limit" bigint,
	"ip_allow" text[] DEFAULT '{}' NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"change_seq" bigint NOT NULL,
	CONSTRAINT "api_keys_key_hash_unique" UNIQUE("key_hash"),
	CONSTRAINT "api_keys_state_is_known" CHECK ("api_keys"."state" in ('active', 'inactive')),
	CONSTRAINT "api_keys_max_level_is_known" CHECK ("api_keys"."max_level" in ('read_only', 'write', 'full_auto'))
);
--> statement-breakpoint
CREATE TABLE "deleted_api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"change_seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "change_counters" (
	"name" text PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"is_only_row" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"installed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"secret_fingerprint" text NOT NULL,
	CONSTRAINT "installation_has_one_row" CHECK ("installation"."is_only_row")
);
--> statement-breakpoint
CREATE TABLE "journal_checkpoints" (
	"journal" text NOT NULL,
	"segment" integer NOT NULL,
	"byte_offset" bigint NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "journal_checkpoints_journal_segment_pk" PRIMARY KEY("journal","segment")
);
--> statement-breakpoint
CREATE TABLE "usage_records" (
	"id" text PRIMARY KEY NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"key_id" text NOT NULL,
	"channel" text NOT NULL,
	"model" text NOT NULL,
	"outcome" text NOT NULL,
	"success" boolean NOT NULL,
	"status" integer NOT NULL,
	"input_tokens" bigint NOT NULL,
	"output_tokens" bigint NOT NULL,
	"cached_tokens" bigint NOT NULL,
	"reasoning_tokens" bigint NOT NULL,
	"estimated" boolean NOT NULL,
	"latency_ms" bigint NOT NULL,
	"first_token_ms" bigint,
	"tool_name" text
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" text PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"role" text NOT NULL,
	"password_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_username_unique" UNIQUE("username"),
	CONSTRAINT "users_username_is_lower_case" CHECK ("users"."username" = lower("users"."username")),
	CONSTRAINT "users_role_is_known" CHECK ("users"."role" in ('admin', 'user'))
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_change_seq_index" ON "api_keys" USING btree ("change_seq");--> statement-breakpoint
CREATE INDEX "api_keys_owner_id_index" ON "api_keys" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "deleted_api_keys_change_seq_index" ON "deleted_api_keys" USING btree ("change_seq");--> statement-breakpoint
CREATE INDEX "usage_records_started_at_index" ON "usage_records" USING btree ("started_at");--> statement-breakpoint
CREATE INDEX "usage_records_key_id_started_at_index" ON "usage_records" USING btree ("key_id","started_at");