import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { noCreateRole, quoteName, type RoleRefusal } from "./role-refusal.ts";
import type { RoleStore } from "./role-store.ts";

/** What the gateway has to know of its PostgreSQL server to make roles there. */
export interface RoleServer {
  readonly database: string;
  /** The gateway's own role. */
  readonly user: string;
  /** Whether the gateway's connections are encrypted. */
  readonly isEncrypted: boolean;
  /** Only superusers, and who was given the right, may limit the files of a role. */
  readonly canLimitFiles: boolean;
}

export interface ServerLimits {
  /** Connections to the gateway's database at most: `max_connections`, or the limit of the database. */
  readonly maxConnections: number;
  /** Those that the server keeps for superusers and for `pg_use_reserved_connections`. */
  readonly reservedConnections: number;
  /** Those that the roles of this installation have now. Connections to a replica (BIKEY_DATABASE_URL) are not seen. */
  readonly roleConnections: number;
}

export async function readServer(db: Db): Promise<RoleServer> {
  const [row] = await db.execute<{
    database: string;
    user: string;
    is_encrypted: boolean;
    can_limit_files: boolean;
  }>(sql`
    select current_database() as database, current_user as user,
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as is_encrypted,
      has_parameter_privilege(current_user, 'temp_file_limit', 'SET') as can_limit_files`);
  if (row === undefined) throw new Error("the database did not describe itself");
  return {
    database: row.database,
    user: row.user,
    isEncrypted: row.is_encrypted,
    canLimitFiles: row.can_limit_files,
  };
}

/** Returns why the gateway may not make roles; undefined where it may. */
export async function findRoleObstacle(db: Db): Promise<RoleRefusal | undefined> {
  const [row] = await db.execute<{ user: string; can_create: boolean }>(sql`
    select rolname as user, rolsuper or rolcreaterole as can_create
    from pg_roles where rolname = current_user`);
  return row?.can_create === true ? undefined : noCreateRole(row?.user ?? "");
}

export async function readServerLimits(db: Db, prefix: string): Promise<ServerLimits> {
  const [row] = await db.execute<Record<"max" | "database_max" | "reserved" | "open", number>>(sql`
    select current_setting('max_connections')::int as max,
      (select datconnlimit from pg_database where datname = current_database()) as database_max,
      current_setting('superuser_reserved_connections')::int
        + coalesce(current_setting('reserved_connections', true), '0')::int as reserved,
      (select count(*) from pg_stat_activity where starts_with(usename, ${prefix}))::int as open`);
  if (row === undefined) throw new Error("the database did not tell its limits");
  const { max, database_max, reserved, open } = row;
  return {
    maxConnections: database_max < 0 ? max : Math.min(max, database_max),
    reservedConnections: reserved,
    roleConnections: open,
  };
}

/**
 * Takes what every login role may do in a database, temporary tables and tables in the schema `public`, where the
 * gateway owns it. The gateway's own role keeps both. Elsewhere nothing changes, for others may need it.
 */
export async function limitEverybody({ ask, change }: RoleStore): Promise<void> {
  const read = async (handle: Db) => {
    const [row] = await handle.execute<{ has_temporary: boolean; has_create: boolean }>(sql`
      select pg_has_role(datdba, 'USAGE')
          and has_database_privilege('public', database.oid, 'TEMPORARY') as has_temporary,
        coalesce(pg_has_role(nspowner, 'USAGE')
          and has_schema_privilege('public', space.oid, 'CREATE'), false) as has_create
      from pg_database as database left join pg_namespace as space on nspname = 'public'
      where datname = current_database()`);
    return { ofDatabase: row?.has_temporary === true, ofSchema: row?.has_create === true };
  };
  const excess = await ask(read);
  if (!excess.ofDatabase && !excess.ofSchema) return;
  await change(async (transaction) => {
    const { ofDatabase, ofSchema } = await read(transaction);
    const { database } = await readServer(transaction);
    const run = (statement: string) => transaction.execute(sql.raw(statement));
    if (ofDatabase) {
      await run(`grant temporary on database ${quoteName(database)} to current_user`);
      await run(`revoke temporary on database ${quoteName(database)} from public`);
    }
    if (ofSchema) {
      await run("grant create on schema public to current_user");
      await run("revoke create on schema public from public");
    }
  });
}
