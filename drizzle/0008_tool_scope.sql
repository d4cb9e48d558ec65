-- An empty scope meant nothing while no assistant had tools. From now on it names none, so the keys that exist get all
-- that their assistants have. A bound that an administrator set by name stays.
UPDATE "api_keys" SET "tool_scope" = '{"tools":["*"],"sql_connections":["*"]}'::jsonb
WHERE "tool_scope" = '{"tools":[],"sql_connections":[]}'::jsonb
	AND coalesce("admin_set"->'toolScope', "tool_scope") = "tool_scope";--> statement-breakpoint
UPDATE "api_keys" SET "admin_set" = jsonb_set("admin_set", '{toolScope}', '{"tools":["*"],"sql_connections":["*"]}'::jsonb)
WHERE "admin_set"->'toolScope' = '{"tools":[],"sql_connections":[]}'::jsonb;
