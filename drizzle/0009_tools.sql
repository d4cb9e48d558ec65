CREATE TABLE "connections" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"name_key" text NOT NULL,
	"kind" text NOT NULL,
	"host" text,
	"port" integer,
	"database" text,
	"user_name" text,
	"tls" text,
	"sealed_password" text,
	"file" text,
	"description" text,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"change_seq" bigint NOT NULL,
	CONSTRAINT "connections_name_key_unique" UNIQUE("name_key"),
	CONSTRAINT "connections_kind_is_known" CHECK ("connections"."kind" in ('postgres', 'mysql', 'sqlite')),
	CONSTRAINT "connections_tls_is_known" CHECK ("connections"."tls" in ('off', 'on', 'verify'))
);
--> statement-breakpoint
CREATE TABLE "mcp_server_tools" (
	"server_id" text NOT NULL,
	"name" text NOT NULL,
	"approved" jsonb,
	"listed" jsonb,
	"level" text,
	CONSTRAINT "mcp_server_tools_server_id_name_pk" PRIMARY KEY("server_id","name"),
	CONSTRAINT "mcp_server_tools_level_is_known" CHECK ("mcp_server_tools"."level" in ('read_only', 'write', 'full_auto'))
);
--> statement-breakpoint
CREATE TABLE "mcp_servers" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"sealed_headers" text,
	"header_names" text[] DEFAULT '{}' NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"timeout_ms" integer,
	"created_by" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"change_seq" bigint NOT NULL,
	CONSTRAINT "mcp_servers_name_unique" UNIQUE("name")
);
--> statement-breakpoint
ALTER TABLE "connections" ADD CONSTRAINT "connections_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mcp_server_tools" ADD CONSTRAINT "mcp_server_tools_server_id_mcp_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."mcp_servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mcp_servers" ADD CONSTRAINT "mcp_servers_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;