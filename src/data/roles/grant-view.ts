import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { inGroups } from "../../lib/in-groups.ts";
import type { RoleScope } from "./role-identity.ts";
import { quoteName } from "./role-refusal.ts";
import { lockRoles } from "./role-store.ts";

/** Roles that one statement names. */
const ROLES_AT_ONCE = 500;

/**
 * Lets the existing roles read a view of the schema `data` if their key or user may: keys that list it or everything,
 * administrators, and users who see the dataset of that name. Roles that are made later get it with the login.
 *
 * @param transaction the one that has made the view; it gets the lock of all roles here, unless it has it.
 */
export async function grantViewToRoles(
  transaction: Db,
  { prefix }: RoleScope,
  view: string,
): Promise<void> {
  await lockRoles(transaction);
  const rows = await transaction.execute<{ role: string }>(sql`
    select rolname as role from pg_roles
    where starts_with(rolname, ${prefix}) and substr(rolname, ${prefix.length + 1}::int) in (
      select id from bi_keys where datasets && array['*', ${view}]::text[]
      union all
      select users.id from users left join datasets on datasets.name = ${view}
      where users.role = 'admin' or datasets.visibility = 'everyone' or datasets.owner_id = users.id
    )
    order by rolname`);
  for (const group of inGroups(rows, ROLES_AT_ONCE)) {
    const names = group.map(({ role }) => quoteName(role));
    await transaction.execute(
      sql.raw(`grant select on data.${quoteName(view)} to ${names.join(", ")}`),
    );
  }
}
