import { eq, sql } from "drizzle-orm";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Principal } from "../../../src/data/principal.ts";
import { withTransaction } from "../../../src/db/context.ts";
import { biKeys } from "../../../src/db/tables/bi-keys.ts";
import { datasets } from "../../../src/db/tables/datasets.ts";
import { users } from "../../../src/db/tables/users.ts";
import { canMakeCertificates, makeCertificate } from "../../support/processes/make-certificate.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import {
  logIn,
  makeView,
  openRoleStage,
  outcome,
  type RoleStage,
  requirePasswords,
} from "./role-stage.ts";

const certificate = canMakeCertificates ? makeCertificate("IP:127.0.0.1") : undefined;
const cluster = await startPostgresCluster(certificate === undefined ? {} : { tls: certificate });
if (cluster !== undefined) await requirePasswords(cluster);
afterAll(async () => {
  await cluster?.remove();
  certificate?.remove();
});

const HOSTILE = `x"; drop role "a'\\; -- $$ é`;

describe.skipIf(cluster === undefined)("the login role of a principal on PostgreSQL", () => {
  let stage: RoleStage;
  beforeAll(async () => {
    if (cluster !== undefined) stage = await openRoleStage(cluster);
  });
  afterAll(() => stage.close());

  const enter = async (principal: Principal, roles = stage.roles) => {
    const login = await roles.login(principal);
    if (login === null) throw new Error("no login");
    return logIn(login.url);
  };

  it("logs in with a derived password, reads its views in a read-only session, and nothing else", async () => {
    const client = await enter(await stage.addKey(["orders"]));
    expect((await client.query("select * from orders")).rows).toEqual([{ id: 1 }]);
    const { rows } = await client.query(`select name, setting from pg_settings where name in
      ('default_transaction_read_only', 'statement_timeout', 'idle_in_transaction_session_timeout', 'search_path', 'jit')
      order by name`);
    expect(rows.map(({ name, setting }) => `${name} ${setting}`)).toEqual([
      "default_transaction_read_only on",
      "idle_in_transaction_session_timeout 60000",
      "jit off",
      "search_path data",
      "statement_timeout 30000",
    ]);
    await client.end();
  });

  it("has no right beyond them, even in a session that reads and writes", async () => {
    await stage.roles.sweep();
    const other = await stage.addKey(["people"]);
    await stage.roles.login(other);
    const client = await enter(await stage.addKey(["orders"]));
    await client.query("set default_transaction_read_only = off");
    const tries = [
      "select * from data.people",
      "select * from public.bi_keys",
      "select * from installation",
      "select * from pg_authid",
      "insert into data.orders values (1)",
      "create table data.mine (id int)",
      "create table public.mine (id int)",
      "create temporary table mine (id int)",
      "create schema mine",
      "create role mine",
      `set role "${stage.user.replaceAll('"', '""')}"`,
      `alter role current_user superuser`,
      "alter role current_user connection limit 1000",
      "copy (select 1) to program 'true'",
      "select pg_read_file('/etc/passwd')",
      "alter system set work_mem = '1GB'",
      "grant select on data.orders to public",
      `drop view data.orders`,
    ];
    const outcomes: string[] = [];
    for (const statement of tries)
      outcomes.push(`${statement} ${await outcome(client, statement)}`);
    const allowed = outcomes.filter((text) => !/ 42501$/.test(text));
    expect(allowed).toEqual([
      // Not in the search path.
      "select * from installation 42P01",
      // No view here takes rows.
      "insert into data.orders values (1) 55000",
      // A warning: nothing was granted.
      "grant select on data.orders to public ok",
    ]);
    const [row] =
      await stage.admin`select has_table_privilege('public', 'data.orders', 'SELECT') as can`;
    expect(row?.["can"]).toBe(false);
    await client.end();
  });

  it("leaves to the gate what every role may do on a PostgreSQL server", async () => {
    const client = await enter(await stage.addKey(["orders"]));
    const tries = [
      "set statement_timeout = 0",
      "set work_mem = '1GB'",
      "set default_transaction_read_only = off",
      "select pg_advisory_lock(1)",
      "select pg_notify('channel', 'text')",
      "listen channel",
      "select lo_unlink(lo_create(0))",
      "select rolname from pg_roles",
      "select relname from pg_class",
    ];
    for (const statement of tries)
      expect(`${statement} ${await outcome(client, statement)}`).toBe(`${statement} ok`);
    expect(await outcome(client, "set temp_file_limit = -1")).toBe("42501");
    await client.end();
  });

  it("has at most the connections of its key", async () => {
    const principal = await stage.addKey(["orders"], { maxConnections: 2 });
    const clients = [await enter(principal), await enter(principal)];
    await expect(enter(principal)).rejects.toMatchObject({ code: "53300" });
    expect(await stage.roles.serverLimits()).toMatchObject({ maxConnections: 300 });
    for (const client of clients) await client.end();
  });

  it("follows its key: views, limits and expiry, also for what hostile names do", async () => {
    await makeView(stage.database, HOSTILE);
    const principal = await stage.addKey(["orders"]);
    const client = await enter(principal);
    expect(await outcome(client, `select * from ${pg.escapeIdentifier(HOSTILE)}`)).toBe("42501");
    await enter({
      ...principal,
      name: HOSTILE,
      views: [HOSTILE, "no such view"],
      timeoutSeconds: 7,
    }).then((second) => second.end());
    expect(await outcome(client, `select * from ${pg.escapeIdentifier(HOSTILE)}`)).toBe("ok");
    expect(await outcome(client, "select * from orders")).toBe("42501");
    const again = await enter({ ...principal, timeoutSeconds: 7 });
    expect((await again.query("show statement_timeout")).rows).toEqual([
      { statement_timeout: "7s" },
    ]);
    await expect(enter({ ...principal, expiresAt: Date.now() - 1_000 })).rejects.toMatchObject({
      code: "28P01",
    });
    await client.end();
    await again.end();
  });

  it("gets nothing done twice: the second login of an unchanged key writes nothing", async () => {
    const principal = await stage.addKey(["orders", "people"]);
    await stage.roles.login(principal);
    const state = async () => {
      const [row] = await stage.admin`select pg_current_xact_id()::text as id`;
      return Number(row?.["id"]);
    };
    const before = await state();
    for (let turn = 0; turn < 5; turn += 1) await stage.roles.login(principal);
    // Each look takes a number itself.
    expect(await state()).toBe(before + 1);
  });

  it("is made once by three replicas and thirty logins at the same time", async () => {
    const replicas = [stage.roles, await stage.open(), await stage.open()];
    const keys = await Promise.all(Array.from({ length: 5 }, () => stage.addKey(["orders"])));
    const logins = await Promise.all(
      replicas.flatMap((roles) => [...keys, ...keys].map((key) => roles.login(key))),
    );
    expect(new Set(logins.map((login) => login?.url)).size).toBe(5);
    const client = await logIn(logins[0]?.url ?? "");
    await client.end();
  });

  it("is dropped once its key is gone, inactive or expired, or its user is, while connected too", async () => {
    const { db } = stage.database;
    await db.delete(biKeys);
    await stage.roles.sweep();
    expect(await stage.roleNames()).toEqual([]);
    const expiresAt = stage.world.now + 60_000;
    const [kept, gone, inactive, expiring] = [
      await stage.addKey(["orders"]),
      await stage.addKey(["orders"]),
      await stage.addKey(["orders"]),
      await stage.addKey(["orders"], { expiresAt }),
    ];
    const user = { ...kept, id: "usr_0000000000000000000000" };
    await db.insert(users).values({ id: user.id, username: "somebody", role: "user" });
    const [staying, ...others] = await Promise.all(
      [kept, gone, inactive, expiring, user].map((one) => enter(one)),
    );
    const ends = others.map((client) => new Promise((resolve) => client.once("error", resolve)));
    // What a role owns must not keep it.
    await others[0]?.query("set default_transaction_read_only = off; select lo_create(0)");
    await stage.roles.sweep();
    expect(await stage.roleNames()).toHaveLength(5);
    await db.delete(biKeys).where(eq(biKeys.id, gone.id));
    await db.update(biKeys).set({ state: "inactive" }).where(eq(biKeys.id, inactive.id));
    await db.update(users).set({ state: "disabled" }).where(eq(users.id, user.id));
    stage.world.now = expiresAt;
    await stage.roles.sweep();
    expect((await stage.roleNames()).map((name) => name.slice(12))).toEqual([kept.id]);
    for (const end of ends) expect(await end).toMatchObject({ code: "57P01" });
    expect(await outcome(staying as pg.Client, "select * from orders")).toBe("ok");
    await staying?.end();
    // An active key gets its role again.
    await db.update(biKeys).set({ state: "active" }).where(eq(biKeys.id, inactive.id));
    await enter(inactive).then((client) => client.end());
  });

  it("opens nothing after a change of the secret", async () => {
    const principal = await stage.addKey(["orders"]);
    const old = await stage.roles.login(principal);
    const rotated = await stage.open({ secret: "another secret of the tests" });
    await rotated.sweep();
    expect(await stage.roleNames()).toEqual([]);
    await expect(logIn(old?.url ?? "")).rejects.toMatchObject({ code: "28P01" });
    const client = await enter(principal, rotated);
    await expect(logIn(old?.url ?? "")).rejects.toMatchObject({ code: "28P01" });
    await client.end();
    await stage.roles.sweep();
  });

  it("is made again when somebody has given it more than the gateway does", async () => {
    const principal = await stage.addKey(["orders"]);
    await enter(principal).then((client) => client.end());
    const [role = ""] = (await stage.roleNames()).filter((name) => name.endsWith(principal.id));
    await stage.admin.unsafe(`grant pg_read_all_data to "${role}"`);
    const client = await enter(principal);
    expect(await outcome(client, "set role pg_read_all_data")).toBe("42501");
    await client.end();
    await stage.admin.unsafe(`comment on role "${role}" is 'of somebody else'`);
    await expect(stage.roles.login({ ...principal, views: [] })).rejects.toMatchObject({
      refusal: { code: "58000", hint: expect.stringContaining(`DROP ROLE "${role}";`) },
    });
    await stage.admin.unsafe(`drop owned by "${role}"`);
    await stage.admin.unsafe(`drop role "${role}"`);
  });

  it("reads a view that is made or replaced while it is connected, if its key may", async () => {
    const [all, named, other] = [
      await stage.addKey(["*"], { views: ["orders"] }),
      await stage.addKey(["later's"]),
      await stage.addKey(["orders"]),
    ];
    const { db } = stage.database;
    const reader = { ...all, id: "usr_1111111111111111111111" };
    const stranger = { ...all, id: "usr_2222222222222222222222" };
    await db.insert(users).values([
      { id: reader.id, username: "reader", role: "user" },
      { id: stranger.id, username: "stranger", role: "user" },
    ]);
    await db.insert(datasets).values({
      ...{ id: "ds_1", name: "later's", ownerId: reader.id, columns: [], tableName: "t" },
    });
    const clients = await Promise.all(
      [all, named, other, reader, stranger].map((one) => enter(one)),
    );
    for (let turn = 0; turn < 2; turn += 1) {
      await withTransaction(db, async (transaction) => {
        await transaction.execute(sql`drop view if exists data."later's"`);
        await makeView({ db: transaction }, "later's");
        await stage.roles.grantView(transaction, "later's");
      });
      const outcomes = clients.map((client) => outcome(client, `select * from "later's"`));
      expect(await Promise.all(outcomes)).toEqual(["ok", "ok", "42501", "ok", "42501"]);
    }
    for (const client of clients) await client.end();
  });

  it("is left alone by another installation on the same server", async () => {
    if (cluster === undefined) return;
    const other = await openRoleStage(cluster);
    const [here, there] = [await stage.addKey(["orders"]), await other.addKey(["orders"])];
    await stage.admin.unsafe("create role gw_00000000_somebody");
    const mine = await enter(here);
    await enter(there, other.roles).then((client) => client.end());
    await other.database.db.delete(biKeys);
    await other.roles.sweep();
    expect(await other.roleNames()).toEqual([]);
    expect(await stage.roleNames()).toContainEqual(expect.stringContaining(here.id));
    expect(await outcome(mine, "select * from orders")).toBe("ok");
    const rows = await stage.admin`select from pg_roles where rolname = 'gw_00000000_somebody'`;
    expect(rows).toHaveLength(1);
    await mine.end();
    await other.close();
  });

  it("is refused, with the SQL that opens it, where the gateway may not create roles", async () => {
    const quoted = `"${stage.user.replaceAll('"', '""')}"`;
    const made = await stage.addKey(["orders"]);
    await stage.roles.login(made);
    expect(await stage.roles.canMakeRoles()).toBe(true);
    await stage.admin.unsafe(`alter role ${quoted} nocreaterole`);
    const refusal = {
      code: "58000",
      message: expect.stringContaining("may not create roles"),
      hint: expect.stringContaining(`ALTER ROLE ${quoted} CREATEROLE;`),
    };
    expect(await stage.roles.canMakeRoles()).toEqual(refusal);
    await expect(stage.roles.login(await stage.addKey(["orders"]))).rejects.toMatchObject({
      refusal,
    });
    // A role that is as it should be needs no right.
    await enter(made).then((client) => client.end());
    await stage.admin.unsafe(`alter role ${quoted} createrole`);
    expect(await stage.roles.canMakeRoles()).toBe(true);
  });

  it.skipIf(certificate === undefined)(
    "is encrypted where the gateway's own connection is, and trusts whom the gateway trusts",
    async () => {
      const principal = await stage.addKey(["orders"]);
      const isEncrypted = async (query: string) => {
        const client = await enter(principal, await stage.open({ url: `${stage.url}${query}` }));
        const { rows } = await client.query(
          "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
        );
        await client.end();
        return rows[0]?.ssl;
      };
      expect(await isEncrypted("")).toBe(false);
      expect(await isEncrypted("?sslmode=require")).toBe(true);
      expect(await isEncrypted("?sslmode=prefer")).toBe(true);
      const replica = { BIKEY_DATABASE_URL: `${stage.url}?sslmode=verify-full` };
      const strict = await stage.open({ settings: replica });
      // The certificate has signed itself.
      await expect(enter(principal, strict)).rejects.toMatchObject({
        code: "DEPTH_ZERO_SELF_SIGNED_CERT",
      });
    },
  );

  it("is dropped with a database that had another name, and kept without a login while it has rights elsewhere", async () => {
    const principal = await stage.addKey(["orders"]);
    const login = await stage.roles.login(principal);
    const role = new URL(login?.url ?? "").username;
    const [row] = await stage.admin`
      select shobj_description(oid, 'pg_authid') as comment from pg_roles where rolname = ${role}`;
    const moved = String(row?.["comment"]).replace(
      /"database":"[^"]*"/,
      '"database":"renamed since"',
    );
    await stage.admin.unsafe(`comment on role "${role}" is '${moved}'`);
    const elsewhere = postgres(cluster?.url ?? "", { max: 1 });
    await elsewhere.unsafe("create table if not exists held (id int)");
    await elsewhere.unsafe(`grant select on held to "${role}"`);
    const state = async () => {
      const rows = await stage.admin`select rolcanlogin from pg_roles where rolname = ${role}`;
      return rows.map((one) => one["rolcanlogin"] as boolean);
    };
    await stage.roles.sweep();
    expect(await state()).toEqual([false]);
    await expect(logIn(login?.url ?? "")).rejects.toMatchObject({ code: "28P01" });
    await elsewhere.unsafe(`revoke all on held from "${role}"`);
    await elsewhere.end();
    await (await stage.open()).sweep();
    expect(await state()).toEqual([]);
  });

  it("is made and dropped by a gateway that is a superuser, too", async () => {
    const url = new URL(stage.url);
    url.username = "postgres";
    const roles = await stage.open({ url: url.href });
    const principal = await stage.addKey(["people"]);
    const client = await enter(principal, roles);
    expect((await client.query("show temp_file_limit")).rows).toEqual([{ temp_file_limit: "4GB" }]);
    const ended = new Promise((resolve) => client.once("error", resolve));
    await stage.database.db.delete(biKeys).where(eq(biKeys.id, principal.id));
    await roles.sweep();
    expect(await ended).toMatchObject({ code: "57P01" });
    expect(await stage.roleNames()).not.toContainEqual(expect.stringContaining(principal.id));
  });

  it("never sends its password to the server's log", async () => {
    const principal = await stage.addKey(["orders"]);
    const login = await stage.roles.login(principal);
    const [row] = await stage.admin`
      select rolpassword from pg_authid where rolname = ${new URL(login?.url ?? "").username}`;
    expect(row?.["rolpassword"]).toMatch(/^SCRAM-SHA-256\$4096:/);
    expect(row?.["rolpassword"]).not.toContain(new URL(login?.url ?? "").password);
  });
});
