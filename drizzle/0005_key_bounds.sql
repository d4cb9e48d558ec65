ALTER TABLE "api_keys" ADD COLUMN "admin_set" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
-- What administrators set before this column was there stands in the audit log: the last value of each field.
WITH "named" ("client", "field") AS (
	VALUES ('state', 'state'), ('assistant_id', 'assistantId'), ('passthrough', 'passthrough'),
		('max_level', 'maxLevel'), ('tool_scope', 'toolScope'), ('monthly_token_limit', 'monthlyTokenLimit'),
		('request_limit', 'requestLimit'), ('rpm_limit', 'rpmLimit'), ('token_limit', 'tokenLimit'),
		('ip_allow', 'ipAllow'), ('expires_at', 'expiresAt')
), "entry" AS (
	SELECT "audit_log"."id", "target_id", "action", "details"
	FROM "audit_log" INNER JOIN "users" ON "users"."id" = "actor_id" AND "users"."role" = 'admin'
	WHERE "target_kind" = 'api_key' AND "action" IN ('api_key.create', 'api_key.update')
), "given" AS (
	SELECT DISTINCT ON ("target_id", "field") "target_id", "field", "value"
	FROM "entry" CROSS JOIN LATERAL jsonb_each("details") AS "detail" ("key", "value")
	INNER JOIN "named" ON "client" = "key"
	ORDER BY "target_id", "field", "entry"."id" DESC
), "bounds" AS (
	SELECT "target_id", jsonb_object_agg("field", "value") AS "fields" FROM "given" GROUP BY "target_id"
)
UPDATE "api_keys" SET "admin_set" = CASE WHEN EXISTS (
		SELECT 1 FROM "entry" WHERE "entry"."target_id" = "api_keys"."id" AND "action" = 'api_key.create'
	) THEN '{"passthrough":false,"maxLevel":"read_only","toolScope":{"tools":[],"sql_connections":[]}}'::jsonb
	ELSE '{}'::jsonb END || coalesce((SELECT "fields" FROM "bounds" WHERE "bounds"."target_id" = "api_keys"."id"), '{}'::jsonb)
WHERE EXISTS (SELECT 1 FROM "entry" WHERE "entry"."target_id" = "api_keys"."id");
