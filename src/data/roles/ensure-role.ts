import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import type { Principal } from "../principal.ts";
import { dropRole } from "./drop-role.ts";
import { createStatement, defineRole, quoteText } from "./role-definition.ts";
import {
  type RoleScope,
  readMark,
  roleName,
  rolePassword,
  scramVerifier,
  writeMark,
} from "./role-identity.ts";
import { foreignRole, quoteName } from "./role-refusal.ts";
import type { RoleServer } from "./role-server.ts";
import type { RoleStore } from "./role-store.ts";

export interface EnsureRole {
  readonly scope: RoleScope;
  readonly server: RoleServer;
  readonly principal: Principal;
}

/** A role as the server has it. */
interface FoundRole {
  readonly exists: boolean;
  readonly canLogIn: boolean;
  /** It has an attribute or a membership that the gateway does not give. */
  readonly isAltered: boolean;
  readonly comment: string | null;
  readonly hasSchema: boolean;
  /** All views of the schema `data`. */
  readonly views: readonly string[];
  /** Those that the role may read. */
  readonly granted: readonly string[];
}

/** What a role should be like. */
interface WantedRole {
  readonly role: string;
  readonly statements: readonly string[];
  readonly mark: string;
  readonly views: ReadonlySet<string>;
}

/**
 * Makes the role of a principal, or brings it up to date. Costs one query where nothing has changed. The first query
 * compares without a lock; what differs is read again under the lock of all roles.
 */
export async function ensureRole(
  { ask, change }: RoleStore,
  { scope, server, principal }: EnsureRole,
): Promise<void> {
  const role = roleName(scope, principal.id);
  const statements = defineRole(principal, { role, canLimitFiles: server.canLimitFiles });
  const mark = writeMark(scope, principal.id, statements);
  const wanted = { role, statements, mark, views: new Set(principal.views) };
  if (isAsWanted(await ask((db) => readRole(db, role)), wanted)) return;
  const verifier = await scramVerifier(rolePassword(scope, role));
  await change(async (transaction) => {
    let found = await readRole(transaction, role);
    if (found.exists && !isOf(scope, found)) throw foreignRole(role);
    if (found.exists && found.isAltered) {
      await dropRole(transaction, role);
      found = await readRole(transaction, role);
    }
    await define(transaction, { found, wanted, verifier });
    await grant(transaction, found, wanted);
  });
}

/** Also true for a role of the same place that was made under another secret or before a restore: it is redefined. */
function isOf({ database }: RoleScope, { comment }: FoundRole): boolean {
  return readMark(comment)?.database === database;
}

function isAsWanted(found: FoundRole, wanted: WantedRole): boolean {
  const { missing, excess } = compareGrants(found, wanted);
  const hasGrants = found.hasSchema && missing.length === 0 && excess.length === 0;
  return found.canLogIn && !found.isAltered && found.comment === wanted.mark && hasGrants;
}

/** A view of the principal may have been dropped since: it is not missing. */
function compareGrants({ views, granted }: FoundRole, wanted: Pick<WantedRole, "views">) {
  const has = new Set(granted);
  return {
    missing: views.filter((view) => wanted.views.has(view) && !has.has(view)),
    excess: granted.filter((view) => !wanted.views.has(view)),
  };
}

interface Definition {
  readonly found: FoundRole;
  readonly wanted: WantedRole;
  readonly verifier: string;
}

async function define(transaction: Db, { found, wanted, verifier }: Definition): Promise<void> {
  if (found.exists && found.canLogIn && found.comment === wanted.mark) return;
  const name = quoteName(wanted.role);
  const statements = [
    ...(found.exists ? [`alter role ${name} reset all`] : [createStatement(wanted.role)]),
    ...wanted.statements,
    `alter role ${name} password '${verifier}'`,
    `comment on role ${name} is ${quoteText(wanted.mark)}`,
  ];
  for (const statement of statements) await transaction.execute(sql.raw(statement));
}

async function grant(transaction: Db, found: FoundRole, wanted: WantedRole): Promise<void> {
  const { missing, excess } = compareGrants(found, wanted);
  const name = quoteName(wanted.role);
  const statements = [
    ...(found.hasSchema ? [] : [`grant usage on schema data to ${name}`]),
    ...(missing.length === 0 ? [] : [`grant select on ${listViews(missing)} to ${name}`]),
    ...(excess.length === 0 ? [] : [`revoke all on ${listViews(excess)} from ${name}`]),
  ];
  for (const statement of statements) await transaction.execute(sql.raw(statement));
}

function listViews(views: readonly string[]): string {
  return views.map((view) => `data.${quoteName(view)}`).join(", ");
}

async function readRole(db: Db, role: string): Promise<FoundRole> {
  const [row] = await db.execute<{
    role: string | null;
    can_log_in: boolean | null;
    is_altered: boolean | null;
    comment: string | null;
    has_schema: boolean;
    views: string;
    granted: string;
  }>(sql`
    select rolname as role, rolcanlogin as can_log_in, shobj_description(roles.oid, 'pg_authid') as comment,
      rolsuper or rolinherit or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
        or exists (select from pg_auth_members where member = roles.oid) as is_altered,
      exists (
        select from pg_namespace, aclexplode(nspacl) as rights
        where nspname = 'data' and grantee = roles.oid and privilege_type = 'USAGE'
      ) as has_schema,
      (
        select coalesce(json_agg(relname), '[]')::text from pg_class
        where relnamespace = to_regnamespace('data') and relkind = 'v'
      ) as views,
      (
        select coalesce(json_agg(relname), '[]')::text from pg_class, aclexplode(relacl) as rights
        where relnamespace = to_regnamespace('data') and grantee = roles.oid and privilege_type = 'SELECT'
      ) as granted
    from (values (1)) as one left join pg_roles as roles on rolname = ${role}`);
  if (row === undefined) throw new Error("the database did not describe a role");
  return {
    exists: row.role !== null,
    canLogIn: row.can_log_in === true,
    isAltered: row.is_altered === true,
    comment: row.comment,
    hasSchema: row.has_schema,
    views: JSON.parse(row.views) as string[],
    granted: JSON.parse(row.granted) as string[],
  };
}
