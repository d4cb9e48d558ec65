CREATE SCHEMA "datasets";
--> statement-breakpoint
CREATE TABLE "datasets" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"owner_id" text,
	"visibility" text DEFAULT 'private' NOT NULL,
	"columns" jsonb NOT NULL,
	"key" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"table_name" text NOT NULL,
	"rows" bigint DEFAULT 0 NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "datasets_visibility_is_known" CHECK ("datasets"."visibility" in ('private', 'everyone'))
);
--> statement-breakpoint
CREATE TABLE "workflow_active_runs" (
	"run_id" text PRIMARY KEY NOT NULL,
	"day" date NOT NULL,
	"workflow_id" text NOT NULL,
	"status" text NOT NULL,
	"number" bigint NOT NULL,
	"job_id" text,
	"trigger_key" text NOT NULL,
	"queued_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"timeout_seconds" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "workflow_facts" (
	"day" date NOT NULL,
	"workflow_id" text NOT NULL,
	"trigger_key" text NOT NULL,
	"fact" text NOT NULL,
	"body_hash" text,
	"run_id" text,
	"answer" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "workflow_facts_day_workflow_id_trigger_key_fact_pk" PRIMARY KEY("day","workflow_id","trigger_key","fact")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "workflow_facts_other" PARTITION OF "workflow_facts" DEFAULT;
--> statement-breakpoint
CREATE TABLE "workflow_marks" (
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"run_id" text NOT NULL,
	"chain" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workflow_marks_kind_subject_pk" PRIMARY KEY("kind","subject")
);
--> statement-breakpoint
CREATE TABLE "workflow_queues" (
	"workflow_id" text PRIMARY KEY NOT NULL,
	"last_number" bigint DEFAULT 0 NOT NULL,
	"queued" integer DEFAULT 0 NOT NULL,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"discarded" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"discarded_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "workflow_rows" (
	"day" date NOT NULL,
	"run_id" text NOT NULL,
	"step_id" text NOT NULL,
	"output" text NOT NULL,
	"chunk" integer NOT NULL,
	"rows" integer NOT NULL,
	"bytes" integer NOT NULL,
	"data" "bytea" NOT NULL,
	CONSTRAINT "workflow_rows_day_run_id_step_id_output_chunk_pk" PRIMARY KEY("day","run_id","step_id","output","chunk")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "workflow_rows_other" PARTITION OF "workflow_rows" DEFAULT;
--> statement-breakpoint
CREATE TABLE "workflow_runs" (
	"id" text NOT NULL,
	"day" date NOT NULL,
	"workflow_id" text NOT NULL,
	"workflow_name" text NOT NULL,
	"owner_id" text,
	"version" integer NOT NULL,
	"status" text NOT NULL,
	"number" bigint NOT NULL,
	"trigger" jsonb NOT NULL,
	"rows_received" bigint NOT NULL,
	"chain" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"queued_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"retries" integer DEFAULT 0 NOT NULL,
	"failed_step" text,
	"error" jsonb,
	"broke_at" text,
	"usage" jsonb,
	"retry_of" text,
	"retry_from" text,
	"rows_dropped" boolean DEFAULT false NOT NULL,
	CONSTRAINT "workflow_runs_day_id_pk" PRIMARY KEY("day","id")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "workflow_runs_other" PARTITION OF "workflow_runs" DEFAULT;
--> statement-breakpoint
CREATE TABLE "workflow_schedules" (
	"workflow_id" text NOT NULL,
	"trigger_key" text NOT NULL,
	"saved_at" timestamp (3) with time zone NOT NULL,
	"next_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "workflow_schedules_workflow_id_trigger_key_pk" PRIMARY KEY("workflow_id","trigger_key")
);
--> statement-breakpoint
CREATE TABLE "workflow_secrets" (
	"owner_id" text NOT NULL,
	"name" text NOT NULL,
	"sealed" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workflow_secrets_owner_id_name_pk" PRIMARY KEY("owner_id","name")
);
--> statement-breakpoint
CREATE TABLE "workflow_steps" (
	"day" date NOT NULL,
	"run_id" text NOT NULL,
	"step_id" text NOT NULL,
	"position" integer NOT NULL,
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"rows_in" bigint DEFAULT 0 NOT NULL,
	"rows_out" bigint DEFAULT 0 NOT NULL,
	"row_errors" bigint DEFAULT 0 NOT NULL,
	"outputs" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"skipped_because" text,
	"usage" jsonb,
	"error" jsonb,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "workflow_steps_day_run_id_step_id_pk" PRIMARY KEY("day","run_id","step_id")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
CREATE TABLE "workflow_steps_other" PARTITION OF "workflow_steps" DEFAULT;
--> statement-breakpoint
CREATE TABLE "workflow_versions" (
	"workflow_id" text NOT NULL,
	"version" integer NOT NULL,
	"definition" json NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"created_by" text,
	CONSTRAINT "workflow_versions_workflow_id_version_pk" PRIMARY KEY("workflow_id","version")
);
--> statement-breakpoint
CREATE TABLE "workflows" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"enabled" boolean DEFAULT true NOT NULL,
	"owner_id" text,
	"visibility" text DEFAULT 'private' NOT NULL,
	"key_id" text,
	"timeout_seconds" integer DEFAULT 3600 NOT NULL,
	"keep_rows" text DEFAULT 'all' NOT NULL,
	"definition" json NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"webhook_secret" text,
	"webhook_url_hash" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workflows_visibility_is_known" CHECK ("workflows"."visibility" in ('private', 'everyone'))
);
--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "run_id" text;--> statement-breakpoint
ALTER TABLE "datasets" ADD CONSTRAINT "datasets_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflow_active_runs" ADD CONSTRAINT "workflow_active_runs_workflow_id_workflows_id_fk" FOREIGN KEY ("workflow_id") REFERENCES "public"."workflows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflow_queues" ADD CONSTRAINT "workflow_queues_workflow_id_workflows_id_fk" FOREIGN KEY ("workflow_id") REFERENCES "public"."workflows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflow_schedules" ADD CONSTRAINT "workflow_schedules_workflow_id_workflows_id_fk" FOREIGN KEY ("workflow_id") REFERENCES "public"."workflows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflow_secrets" ADD CONSTRAINT "workflow_secrets_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflow_versions" ADD CONSTRAINT "workflow_versions_workflow_id_workflows_id_fk" FOREIGN KEY ("workflow_id") REFERENCES "public"."workflows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflows" ADD CONSTRAINT "workflows_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workflows" ADD CONSTRAINT "workflows_key_id_api_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."api_keys"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "datasets_name_index" ON "datasets" USING btree ("name");--> statement-breakpoint
CREATE INDEX "datasets_created_at_index" ON "datasets" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "datasets_owner_id_index" ON "datasets" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "workflow_active_runs_running_index" ON "workflow_active_runs" USING btree ("workflow_id") WHERE "workflow_active_runs"."status" = 'running';--> statement-breakpoint
CREATE UNIQUE INDEX "workflow_active_runs_number_index" ON "workflow_active_runs" USING btree ("workflow_id","number");--> statement-breakpoint
CREATE INDEX "workflow_active_runs_queued_at_index" ON "workflow_active_runs" USING btree ("status","queued_at");--> statement-breakpoint
CREATE INDEX "workflow_active_runs_day_index" ON "workflow_active_runs" USING btree ("day");--> statement-breakpoint
CREATE INDEX "workflow_marks_created_at_index" ON "workflow_marks" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "workflow_runs_queued_at_index" ON "workflow_runs" USING btree ("day","queued_at","id");--> statement-breakpoint
CREATE INDEX "workflow_runs_workflow_id_index" ON "workflow_runs" USING btree ("workflow_id","day","queued_at","id");--> statement-breakpoint
CREATE INDEX "workflow_runs_owner_id_index" ON "workflow_runs" USING btree ("owner_id","day","queued_at","id");--> statement-breakpoint
CREATE INDEX "workflow_runs_status_index" ON "workflow_runs" USING btree ("status","day","queued_at","id");--> statement-breakpoint
CREATE INDEX "workflow_runs_ended_at_index" ON "workflow_runs" USING btree ("ended_at");--> statement-breakpoint
CREATE INDEX "workflow_schedules_next_at_index" ON "workflow_schedules" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "workflows_created_at_index" ON "workflows" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "workflows_owner_id_index" ON "workflows" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "workflows_webhook_url_hash_index" ON "workflows" USING btree ("webhook_url_hash") WHERE "workflows"."webhook_url_hash" is not null;--> statement-breakpoint
-- The chunks are compressed already.
ALTER TABLE "workflow_rows" ALTER COLUMN "data" SET STORAGE EXTERNAL;--> statement-breakpoint
ALTER TABLE "workflow_rows_other" ALTER COLUMN "data" SET STORAGE EXTERNAL;--> statement-breakpoint
-- The history is searched for what started a run, also for kinds of which there are few.
CREATE INDEX "workflow_runs_trigger_kind_index" ON "workflow_runs" USING btree (("trigger" ->> 'kind'),"day","queued_at","id");
