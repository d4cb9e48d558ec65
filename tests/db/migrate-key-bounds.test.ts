import { sql } from "drizzle-orm";
import { expect, it } from "vitest";
import { knownMigrations, migrate } from "../../src/db/migrate.ts";
import { openEmptyDatabase } from "../support/servers/test-database.ts";

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
        toolScope: { tools: [], sql_connections: [] },
      },
    },
    { id: "own", admin_set: {} },
  ]);
  await database.close();
});
