import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { quoteName } from "./role-refusal.ts";

/** Takes a role's login, so that no connection comes after those that `dropRole` ends. */
export async function closeRole(transaction: Db, role: string): Promise<void> {
  await transaction.execute(sql.raw(`alter role ${quoteName(role)} nologin password null`));
}

/**
 * Ends the connections of a role, drops what it owns and may do in this database, and the role. Rejects with 2BP01 where
 * it has rights in another database.
 */
export async function dropRole(transaction: Db, role: string): Promise<void> {
  await emptyRole(transaction, role);
  await transaction.execute(sql.raw(`drop role ${quoteName(role)}`));
}

/**
 * Only a member of the role may end its connections and drop what it owns. CREATEROLE allows to become one: on PostgreSQL
 * 15 of any role, since 16 of those that it has created. A member that inherits nothing has to act as the role. Its
 * rights are revoked by the gateway, which has granted them.
 */
export async function emptyRole(transaction: Db, role: string): Promise<void> {
  const name = quoteName(role);
  await transaction.execute(sql.raw(`grant ${name} to current_user`));
  await transaction.execute(sql.raw(`set local role ${name}`));
  await transaction.execute(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role}`,
  );
  await transaction.execute(sql.raw(`drop owned by ${name}`));
  await transaction.execute(sql.raw("reset role"));
  const [row] = await transaction.execute<{ has_schema: boolean }>(
    sql`select to_regnamespace('data') is not null as has_schema`,
  );
  if (row?.has_schema === true) {
    await transaction.execute(sql.raw(`revoke all on all tables in schema data from ${name}`));
    await transaction.execute(sql.raw(`revoke all on schema data from ${name}`));
  }
  await transaction.execute(sql.raw(`revoke ${name} from current_user`));
}
