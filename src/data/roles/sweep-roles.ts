import { and, eq, gt, inArray, isNull, or, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { biKeys } from "../../db/tables/bi-keys.ts";
import { users } from "../../db/tables/users.ts";
import { closeRole, dropRole, emptyRole } from "./drop-role.ts";
import { ROLE_PREFIX, type RoleMark, type RoleScope, readMark } from "./role-identity.ts";
import type { RoleStore } from "./role-store.ts";

/** SQLSTATE of a role that has rights in another database. */
const DEPENDENT_OBJECTS = "2BP01";

interface MarkedRole {
  readonly role: string;
  readonly canLogIn: boolean;
  readonly mark: RoleMark;
}

export interface SweepRoles {
  readonly scope: RoleScope;
  /** Unix milliseconds. */
  readonly now: number;
  /** Called for a role that cannot be dropped or closed. */
  readonly onFailure: (role: string, thrown: unknown) => void;
  /** True for a role that could not be dropped: it is only kept without a login. */
  readonly isGivenUp: (role: string) => boolean;
}

/**
 * Drops the roles of this installation that nobody may use now: of a key or user that is gone, inactive or expired, and
 * those that were made under another secret, by an earlier installation in this database, or before it had its name.
 * First each loses its login, in a transaction of its own: that holds where the rest fails. Costs two queries where
 * there is nothing to drop. Roles without the mark of this installation are never touched.
 */
export async function sweepRoles(store: RoleStore, options: SweepRoles): Promise<void> {
  const stale = await store.ask((db) => findStale(db, options));
  for (const { role, canLogIn } of stale) {
    if (!canLogIn && options.isGivenUp(role)) continue;
    await dropStale(store, role, options).catch((thrown: unknown) =>
      options.onFailure(role, thrown),
    );
  }
}

/** Nothing is done to a role whose key has become active since. */
async function dropStale(store: RoleStore, role: string, options: SweepRoles): Promise<void> {
  const inStale = (work: (transaction: Db, found: MarkedRole) => Promise<unknown>) =>
    store.change(async (transaction) => {
      const stale = await findStale(transaction, options);
      const found = stale.find((one) => one.role === role);
      if (found !== undefined) await work(transaction, found);
    });
  await inStale(async (transaction, { canLogIn }) => {
    if (canLogIn) await closeRole(transaction, role);
  });
  await inStale((transaction) =>
    transaction
      .transaction((inner) => dropRole(inner, role))
      .catch(async (thrown: unknown) => {
        if (toDatabaseError(thrown).code !== DEPENDENT_OBJECTS) throw thrown;
        await emptyRole(transaction, role);
        options.onFailure(role, thrown);
      }),
  );
}

async function findStale(db: Db, { scope, now }: SweepRoles): Promise<readonly MarkedRole[]> {
  const { roles, databases } = await listRoles(db);
  const kept = roles.filter(({ mark }) => isCurrent(mark, scope));
  const valid = await listValid(
    db,
    kept.map(({ mark }) => mark.principal),
    now,
  );
  return roles.filter(({ mark }) => {
    if (isCurrent(mark, scope)) return !valid.has(mark.principal);
    if (mark.database === scope.database) return true;
    return mark.installation === scope.installation && !databases.has(mark.database);
  });
}

function isCurrent(mark: RoleMark, { database, installation, secret }: RoleScope): boolean {
  return mark.database === database && mark.installation === installation && mark.secret === secret;
}

/** The roles of all gateways on the server, and the names of its databases. */
async function listRoles(db: Db) {
  const rows = await db.execute<{ role: string; can_log_in: boolean; comment: string }>(sql`
    select rolname as role, rolcanlogin as can_log_in, description as comment
    from pg_roles join pg_shdescription on objoid = oid and classoid = 'pg_authid'::regclass
    where starts_with(rolname, ${ROLE_PREFIX})`);
  const roles: MarkedRole[] = [];
  for (const { role, can_log_in, comment } of rows) {
    const mark = readMark(comment);
    if (mark !== undefined) roles.push({ role, canLogIn: can_log_in, mark });
  }
  const names = await db.execute<{ name: string }>(sql`select datname as name from pg_database`);
  return { roles, databases: new Set(names.map(({ name }) => name)) };
}

/** The ids of those that may read now. A key may while its owner is an active administrator. */
async function listValid(db: Db, ids: readonly string[], now: number): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const isUnexpired = or(isNull(biKeys.expiresAt), gt(biKeys.expiresAt, new Date(now)));
  const keys = await db
    .select({ id: biKeys.id })
    .from(biKeys)
    .innerJoin(users, and(eq(users.id, biKeys.ownerId), eq(users.role, "admin")))
    .where(
      and(
        inArray(biKeys.id, [...ids]),
        eq(biKeys.state, "active"),
        eq(users.state, "active"),
        isUnexpired,
      ),
    );
  const people = await db
    .select({ id: users.id })
    .from(users)
    .where(and(inArray(users.id, [...ids]), eq(users.state, "active")));
  return new Set([...keys, ...people].map(({ id }) => id));
}
