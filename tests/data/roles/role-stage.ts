import { readFileSync, writeFileSync } from "node:fs";
import { sql } from "drizzle-orm";
import pg from "pg";
import postgres from "postgres";
import { openInstallation } from "../../../src/access/open-installation.ts";
import { openSecret } from "../../../src/access/secret.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Principal } from "../../../src/data/principal.ts";
import { openRoles, type Roles } from "../../../src/data/roles/open-roles.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { biKeys } from "../../../src/db/tables/bi-keys.ts";
import { users } from "../../../src/db/tables/users.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { PostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { createDatabase } from "../../support/servers/databases/test-database.ts";

const SECRET = "the secret of the role tests";
const GATEWAY_PASSWORD = "the gateway's own password";
const log = createLog("silent");

/** A gateway's database on the cluster, which its own role with CREATEROLE owns, with two views and a function. */
export interface RoleStage {
  readonly database: Database;
  readonly roles: Roles;
  /** As the superuser, in the same database. */
  readonly admin: postgres.Sql;
  /** The gateway's own role. */
  readonly user: string;
  /** DATABASE_URL */
  readonly url: string;
  readonly world: { now: number };
  /** The same installation in another process: of this secret, with these settings, as this role. */
  readonly open: (given?: {
    readonly secret?: string;
    readonly url?: string;
    readonly settings?: Readonly<Record<string, string>>;
  }) => Promise<Roles>;
  /** Adds a key of an administrator and returns who reads with it. */
  readonly addKey: (views: readonly string[], more?: Partial<Principal>) => Promise<Principal>;
  readonly roleNames: () => Promise<string[]>;
  readonly close: () => Promise<void>;
}

/** Everybody but the superuser has to log in with a password. */
export async function requirePasswords({ url }: PostgresCluster): Promise<void> {
  const admin = postgres(url, { max: 1 });
  const [row] = await admin`show hba_file`;
  const file = String(row?.["hba_file"]);
  const lines = ["host all postgres 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256"];
  writeFileSync(file, `${lines.join("\n")}\n${readFileSync(file, "utf8")}`);
  await admin`select pg_reload_conf()`;
  await admin.end();
}

export async function openRoleStage(
  { url: serverUrl }: PostgresCluster,
  installedAt = Date.UTC(2026, 10, 1) + Math.floor(Math.random() * 1e9),
): Promise<RoleStage> {
  const own = await createDatabase(serverUrl);
  const admin = postgres(own.url, { max: 1, onnotice: () => undefined });
  const user = `gateway "${randomBase62(6)}'`;
  const quoted = `"${user.replaceAll('"', '""')}"`;
  const name = new URL(own.url).pathname.slice(1);
  await admin.unsafe(
    `create role ${quoted} login createrole password '${"the gateway''s own password"}'`,
  );
  await admin.unsafe(`alter database ${name} owner to ${quoted}`);
  const asGateway = new URL(own.url);
  asGateway.username = encodeURIComponent(user);
  asGateway.password = encodeURIComponent(GATEWAY_PASSWORD);
  const { href: url } = asGateway;
  const pools: Database[] = [];
  const connect = async (address: string) => {
    const pool = await openPostgres(address, { DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 20_000 }, log);
    pools.push(pool);
    return pool;
  };
  const database = await connect(url);
  await migrate(database);
  const world = { now: Date.now() };
  const clock = { now: () => world.now };
  await openInstallation(database, await openSecret({ APP_SECRET: SECRET, DATA_DIR: "" }), {
    now: () => installedAt,
  });
  await database.db.execute(sql`create schema data`);
  for (const view of ["orders", "people"]) await makeView(database, view);
  const owner = `usr_${randomBase62(22)}`;
  await database.db
    .insert(users)
    .values({ id: owner, username: owner.toLowerCase(), role: "admin" });
  const open: RoleStage["open"] = async ({ secret = SECRET, url: address, settings = {} } = {}) => {
    const loaded = loadConfig({
      DATABASE_URL: address ?? url,
      LLM_BASE_URL: "http://127.0.0.1:9",
      ...settings,
    });
    const base = {
      settings: loaded.settings,
      database: await connect(address ?? url),
      clock,
      log,
    };
    const opened = await openSecret({ APP_SECRET: secret, DATA_DIR: "" });
    return openRoles(base, { secret: opened, installedAt }).roles;
  };
  return {
    ...{ database, admin, user, url, world, open },
    roles: await open(),
    async addKey(views, more = {}) {
      const id = `bik_${randomBase62(22)}`;
      const expiresAt = more.expiresAt ?? null;
      await database.db.insert(biKeys).values({
        ...{ id, name: id, keyHash: id, lastFour: "last", ownerId: owner, datasets: [...views] },
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
      });
      const limits = { rowLimit: 100, timeoutSeconds: 30, maxConnections: 3, expiresAt };
      return { id, name: id, views, ...limits, ...more };
    },
    async roleNames() {
      const rows = await admin`
        select rolname from pg_roles where rolname like 'gw\\_%'
        and shobj_description(oid, 'pg_authid')::json->>'database' = current_database() order by 1`;
      return rows.map((row) => String(row["rolname"]));
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.close()));
      await admin.end();
      await own.drop();
    },
  };
}

export async function makeView({ db }: Pick<Database, "db">, name: string): Promise<void> {
  const view = sql`data.${sql.identifier(name)}`;
  await db.execute(sql`create view ${view} with (security_barrier) as select 1 as id`);
}

/** Logs in as a BI tool would that has got past the port, with the driver that the port uses. */
export async function logIn(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** The SQLSTATE of a statement that fails; `ok` for one that does not. */
export async function outcome(client: pg.Client, statement: string): Promise<string> {
  return client.query(statement).then(
    () => "ok",
    (thrown: unknown) => (thrown as { code?: string }).code ?? String(thrown),
  );
}
