import { sql } from "drizzle-orm";
import { expect, it } from "vitest";
import { knownMigrations, migrate } from "../../src/db/migrate.ts";
import { openEmptyDatabase } from "../support/servers/databases/test-database.ts";

it("what administrators set on keys before an upgrade binds their owners after it", async () => {
  const database = await openEmptyDatabase();
  const { db } = database;
  await migrate(database, undefined, knownMigrations()[4]);
  await db.execute(sql`
    insert into users (id, username, role) values ('usr_admin', 'admin', 'admin'), ('usr_ada', 'ada', 'user')`);
  await db.execute(sql`
    insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq)
    select id, id, id, 'aaaa', 'usr_ada', 1 from unnest(array['made', 'changed', 'own']) id`);
  await db.execute(sql`
    insert into audit_log (actor_id, via, action, target_kind, target_id, details) values
      ('usr_admin', 'session', 'api_key.create', 'api_key', 'made', '{"name": "a", "rpm_limit": 5, "max_level": "write"}'),
      ('usr_ada', 'session', 'api_key.update', 'api_key', 'made', '{"rpm_limit": 50}'),
      ('usr_ada', 'session', 'api_key.create', 'api_key', 'changed', '{"rpm_limit": 9, "passthrough": true}'),
      ('usr_admin', 'session', 'api_key.update', 'api_key', 'changed', '{"token_limit": 7, "expires_at": null}'),
      ('usr_admin', 'key', 'api_key.update', 'api_key', 'changed', '{"token_limit": 8}'),
      ('usr_ada', 'session', 'api_key.create', 'api_key', 'own', '{"rpm_limit": 9}')`);
  await migrate(database);
  const rows = await db.execute(sql`select id, admin_set from api_keys order by id`);
  expect(rows).toEqual([
    { id: "changed", admin_set: { tokenLimit: 8, expiresAt: null } },
    {
      id: "made",
      admin_set: {
        ...{ passthrough: false, maxLevel: "write", rpmLimit: 5 },
        toolScope: { tools: ["*"], sql_connections: ["*"] },
      },
    },
    { id: "own", admin_set: {} },
  ]);
  await database.close();
});

it("an empty scope of a key becomes the full one in an upgrade, unless an administrator set a bound by name", async () => {
  const database = await openEmptyDatabase();
  const { db } = database;
  await migrate(database, undefined, knownMigrations()[7]);
  await db.execute(sql`insert into users (id, username, role) values ('usr_ada', 'ada', 'user')`);
  const empty = { tools: [], sql_connections: [] };
  const full = { tools: ["*"], sql_connections: ["*"] };
  const named = { tools: ["a"], sql_connections: [] };
  const keys = [
    ["bound", empty, { toolScope: named }],
    ["by_admin", empty, { toolScope: empty, rpmLimit: 1 }],
    ["lowered", named, { toolScope: empty }],
    ["named", named, {}],
    ["own", empty, {}],
  ] as const;
  for (const [id, scope, adminSet] of keys) {
    await db.execute(sql`
      insert into api_keys (id, name, key_hash, last_four, owner_id, change_seq, tool_scope, admin_set)
      values (${id}, ${id}, ${id}, 'aaaa', 'usr_ada', 1, ${JSON.stringify(scope)}::jsonb, ${JSON.stringify(adminSet)}::jsonb)`);
  }
  await migrate(database);
  const rows = await db.execute(sql`select id, tool_scope, admin_set from api_keys order by id`);
  expect(rows).toEqual([
    { id: "bound", tool_scope: empty, admin_set: { toolScope: named } },
    { id: "by_admin", tool_scope: full, admin_set: { toolScope: full, rpmLimit: 1 } },
    { id: "lowered", tool_scope: named, admin_set: { toolScope: full } },
    { id: "named", tool_scope: named, admin_set: {} },
    { id: "own", tool_scope: full, admin_set: {} },
  ]);
  await database.close();
});
