import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSecret } from "../../../src/access/secret.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Principal } from "../../../src/data/principal.ts";
import { openRoles, type Roles } from "../../../src/data/roles/open-roles.ts";
import type { Database } from "../../../src/db/database.ts";
import { biKeys } from "../../../src/db/tables/bi-keys.ts";
import { users } from "../../../src/db/tables/users.ts";
import { createLog } from "../../../src/lib/log.ts";
import { openEmbeddedInMemory } from "../../support/servers/databases/test-database.ts";

const installedAt = Date.UTC(2026, 10, 1);
const key: Principal = {
  id: "bik_0000000000000000000001",
  name: "a report",
  views: ["orders"],
  rowLimit: 100,
  timeoutSeconds: 30,
  maxConnections: 3,
  expiresAt: null,
};

/**
 * Since PostgreSQL 16 CREATEROLE reaches only as far as the roles that one has created. The embedded database is newer
 * than that, and takes roles as a server does: it stands in for one here, with its only session as the gateway's role.
 */
describe.each(["inherit", "noinherit"])(
  "on PostgreSQL 16 or newer, as a role with %s",
  (inherits) => {
    let database: Database;
    let roles: Roles;
    const run = (statement: string) => database.db.execute(sql.raw(statement));
    const names = async () =>
      (await run("select rolname from pg_roles where rolname like 'gw\\_%' order by 1")).map(
        (row) => String(row["rolname"]),
      );

    beforeAll(async () => {
      database = await openEmbeddedInMemory();
      const [version] = await run(
        "select current_setting('server_version_num')::int / 10000 as major",
      );
      expect(Number(version?.["major"])).toBeGreaterThanOrEqual(16);
      await database.db.insert(users).values({ id: "usr_1", username: "admin", role: "admin" });
      await database.db.insert(biKeys).values({
        ...{ id: key.id, name: "a report", keyHash: "h", lastFour: "last", ownerId: "usr_1" },
      });
      await run(`create role gateway login createrole ${inherits}`);
      await run("grant all on database postgres to gateway");
      await run("grant select, delete, update on all tables in schema public to gateway");
      await run("create role gw_altered");
      await run("set session authorization gateway");
      await run("create schema data");
      await run("create view data.orders as select 1 as id");
      const { settings } = loadConfig({
        DATABASE_URL: "postgres://127.0.0.1/postgres",
        LLM_BASE_URL: "http://127.0.0.1:9",
      });
      const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: "" });
      const base = { settings, database: { ...database, kind: "postgres" as const } };
      const clock = { now: () => Date.now() };
      const log = createLog("silent");
      roles = openRoles({ ...base, clock, log }, { secret, installedAt }).roles;
    });
    afterAll(() => database.close());

    it("makes, changes and drops roles", async () => {
      expect(await roles.canMakeRoles()).toBe(true);
      await roles.login(key);
      await roles.login({ ...key, timeoutSeconds: 7, views: [] });
      await roles.login(key);
      const [role = ""] = await names();
      expect(role).toMatch(/^gw_[0-9a-f]{8}_bik_0000000000000000000001$/);
      const [row] = await run(
        `select has_table_privilege('${role}', 'data.orders', 'SELECT') as can, rolinherit from pg_roles where rolname = '${role}'`,
      );
      expect(row).toEqual({ can: true, rolinherit: false });
      await database.db.delete(biKeys).where(eq(biKeys.id, key.id));
      await roles.sweep();
      expect(await names()).toEqual(["gw_altered"]);
    });

    it("says which right it lacks over a role that another has created", async () => {
      await roles.login(key);
      const [role = ""] = await names();
      const [comment] = await run(
        `select quote_literal(shobj_description(oid, 'pg_authid')) as text from pg_roles where rolname = '${role}'`,
      );
      await run("set session authorization postgres");
      await run(`drop owned by "${role}"`);
      await run(`drop role "${role}"`);
      await run(`create role "${role}" login noinherit`);
      await run(`comment on role "${role}" is ${String(comment?.["text"])}`);
      await run("set session authorization gateway");
      await expect(roles.login({ ...key, timeoutSeconds: 9 })).rejects.toMatchObject({
        refusal: {
          code: "58000",
          hint: expect.stringContaining(`GRANT "${role}" TO "gateway" WITH ADMIN OPTION;`),
        },
      });
      await roles.sweep();
      expect(await names()).toContain(role);
      await run("set session authorization postgres");
      await run("alter role gateway nocreaterole");
      await run("set session authorization gateway");
      expect(await roles.canMakeRoles()).toMatchObject({ code: "58000" });
    });
  },
);
