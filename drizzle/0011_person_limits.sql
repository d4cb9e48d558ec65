CREATE TABLE "former_api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"owner_id" text NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "session_months" (
	"user_id" text NOT NULL,
	"month" date NOT NULL,
	"tokens" bigint NOT NULL,
	CONSTRAINT "session_months_user_id_month_pk" PRIMARY KEY("user_id","month")
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "monthly_token_limit" bigint;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "rpm_limit" bigint;--> statement-breakpoint
ALTER TABLE "former_api_keys" ADD CONSTRAINT "former_api_keys_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session_months" ADD CONSTRAINT "session_months_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "former_api_keys_owner_id_index" ON "former_api_keys" USING btree ("owner_id");