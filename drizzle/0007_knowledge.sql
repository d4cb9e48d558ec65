CREATE TABLE "assistants" (
	"id" text PRIMARY KEY NOT NULL,
	"owner_id" text,
	"visibility" text DEFAULT 'private' NOT NULL,
	"name" text,
	"name_key" text NOT NULL,
	"slug" text NOT NULL,
	"model" text,
	"description" text,
	"instructions" text,
	"tools" text[] DEFAULT '{}' NOT NULL,
	"vector_store_ids" text[] DEFAULT '{}' NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"temperature" double precision,
	"top_p" double precision,
	"reasoning_effort" text,
	"response_format" jsonb,
	"max_level" text DEFAULT 'read_only' NOT NULL,
	"sql_connections" text[] DEFAULT '{}' NOT NULL,
	"file_connections" text[] DEFAULT '{}' NOT NULL,
	"grounding" text,
	"top_k" integer,
	"min_similarity" double precision,
	"no_answer_text" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"change_seq" bigint NOT NULL,
	CONSTRAINT "assistants_name_key_unique" UNIQUE("name_key"),
	CONSTRAINT "assistants_slug_unique" UNIQUE("slug"),
	CONSTRAINT "assistants_visibility_is_known" CHECK ("assistants"."visibility" in ('private', 'everyone')),
	CONSTRAINT "assistants_max_level_is_known" CHECK ("assistants"."max_level" in ('read_only', 'write', 'full_auto')),
	CONSTRAINT "assistants_grounding_is_known" CHECK ("assistants"."grounding" in ('off', 'prefer', 'strict'))
);
--> statement-breakpoint
CREATE TABLE "chunks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "chunks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"vector_store_id" text NOT NULL,
	"generation" integer NOT NULL,
	"file_id" text NOT NULL,
	"position" integer NOT NULL,
	"text" text NOT NULL,
	"heading" text,
	"page" integer,
	"sheet" text,
	"embedding" real[] NOT NULL,
	"words" "tsvector" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "vector_store_file_batches" (
	"id" text PRIMARY KEY NOT NULL,
	"vector_store_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"cancelled_at" timestamp (3) with time zone,
	"reported_at" timestamp (3) with time zone,
	"file_connection" text,
	"glob" text,
	"listed_at" timestamp (3) with time zone,
	"remaining" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "files" (
	"id" text PRIMARY KEY NOT NULL,
	"owner_id" text,
	"visibility" text DEFAULT 'private' NOT NULL,
	"filename" text NOT NULL,
	"purpose" text NOT NULL,
	"bytes" bigint NOT NULL,
	"sha256" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	CONSTRAINT "files_visibility_is_known" CHECK ("files"."visibility" in ('private', 'everyone'))
);
--> statement-breakpoint
CREATE TABLE "vector_store_files" (
	"vector_store_id" text NOT NULL,
	"file_id" text NOT NULL,
	"batch_id" text,
	"status" text DEFAULT 'in_progress' NOT NULL,
	"error_code" text,
	"error_message" text,
	"attributes" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"chunking" jsonb,
	"chunks_done" integer DEFAULT 0 NOT NULL,
	"chunks_total" integer,
	"generation" integer,
	"usage_bytes" bigint DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"source_connection" text,
	"source_path" text,
	"source_size" bigint,
	"source_modified_ms" bigint,
	CONSTRAINT "vector_store_files_vector_store_id_file_id_pk" PRIMARY KEY("vector_store_id","file_id"),
	CONSTRAINT "vector_store_files_status_is_known" CHECK ("vector_store_files"."status" in ('in_progress', 'completed', 'failed', 'cancelled'))
);
--> statement-breakpoint
CREATE TABLE "vector_stores" (
	"id" text PRIMARY KEY NOT NULL,
	"owner_id" text,
	"visibility" text DEFAULT 'private' NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_active_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_after_days" integer,
	"expires_at" timestamp (3) with time zone,
	"embedding_model" text NOT NULL,
	"dimensions" integer,
	"generation" integer DEFAULT 1 NOT NULL,
	"next_generation" integer,
	"next_embedding_model" text,
	"next_dimensions" integer,
	"latest_generation" integer DEFAULT 1 NOT NULL,
	"reindex_error" text,
	"version" bigint DEFAULT 0 NOT NULL,
	"folder_connection" text,
	"folder_glob" text,
	CONSTRAINT "vector_stores_visibility_is_known" CHECK ("vector_stores"."visibility" in ('private', 'everyone'))
);
--> statement-breakpoint
ALTER TABLE "installation" ADD COLUMN "files_folder_id" text;--> statement-breakpoint
ALTER TABLE "usage_records" ADD COLUMN "assistant_id" text;--> statement-breakpoint
ALTER TABLE "assistants" ADD CONSTRAINT "assistants_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_store_file_batches" ADD CONSTRAINT "vector_store_file_batches_vector_store_id_vector_stores_id_fk" FOREIGN KEY ("vector_store_id") REFERENCES "public"."vector_stores"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "files" ADD CONSTRAINT "files_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_store_files" ADD CONSTRAINT "vector_store_files_vector_store_id_vector_stores_id_fk" FOREIGN KEY ("vector_store_id") REFERENCES "public"."vector_stores"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_store_files" ADD CONSTRAINT "vector_store_files_file_id_files_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."files"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_store_files" ADD CONSTRAINT "vector_store_files_batch_id_vector_store_file_batches_id_fk" FOREIGN KEY ("batch_id") REFERENCES "public"."vector_store_file_batches"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "vector_stores" ADD CONSTRAINT "vector_stores_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "assistants_created_at_index" ON "assistants" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "assistants_change_seq_index" ON "assistants" USING btree ("change_seq");--> statement-breakpoint
CREATE UNIQUE INDEX "chunks_place_index" ON "chunks" USING btree ("vector_store_id","generation","file_id","position");--> statement-breakpoint
CREATE INDEX "vector_store_file_batches_vector_store_id_index" ON "vector_store_file_batches" USING btree ("vector_store_id","created_at");--> statement-breakpoint
CREATE INDEX "files_created_at_index" ON "files" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "files_owner_id_index" ON "files" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE INDEX "files_sha256_index" ON "files" USING btree ("sha256");--> statement-breakpoint
CREATE INDEX "files_expires_at_index" ON "files" USING btree ("expires_at") WHERE "files"."expires_at" is not null;--> statement-breakpoint
CREATE INDEX "vector_store_files_created_at_index" ON "vector_store_files" USING btree ("vector_store_id","created_at","file_id");--> statement-breakpoint
CREATE INDEX "vector_store_files_file_id_index" ON "vector_store_files" USING btree ("file_id");--> statement-breakpoint
CREATE INDEX "vector_store_files_batch_id_index" ON "vector_store_files" USING btree ("batch_id");--> statement-breakpoint
CREATE INDEX "vector_store_files_source_index" ON "vector_store_files" USING btree ("vector_store_id","source_connection","source_path") WHERE "vector_store_files"."source_path" is not null;--> statement-breakpoint
CREATE INDEX "vector_stores_created_at_index" ON "vector_stores" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "vector_stores_owner_id_index" ON "vector_stores" USING btree ("owner_id","created_at");--> statement-breakpoint
CREATE INDEX "vector_stores_expires_at_index" ON "vector_stores" USING btree ("expires_at") WHERE "vector_stores"."expires_at" is not null;