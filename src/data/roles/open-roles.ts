import type { Secret } from "../../access/secret.ts";
import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { isFromDatabase, isPassing, toDatabaseError } from "../../db/database-error.ts";
import { shareRuns } from "../../lib/concurrency.ts";
import type { AdmissionRefusal, Principal, UpstreamLogin } from "../principal.ts";
import { ensureRole } from "./ensure-role.ts";
import { grantViewToRoles } from "./grant-view.ts";
import { createScope, type RoleScope, roleName, rolePassword } from "./role-identity.ts";
import { notOurs } from "./role-refusal.ts";
import {
  findRoleObstacle,
  limitEverybody,
  type RoleServer,
  readServer,
  readServerLimits,
  type ServerLimits,
} from "./role-server.ts";
import { createRoleStore, type RoleStore } from "./role-store.ts";
import { roleUrl } from "./role-url.ts";
import { sweepRoles } from "./sweep-roles.ts";

/** The login roles of principals on the PostgreSQL server. The embedded store has none. */
export interface Roles {
  /**
   * Makes the role of a principal as it is now, and returns its login; null on the embedded store. Costs one query when
   * nothing has changed. Rejects with a `RoleRefusal` where the operator has to allow it, and as `database.askOwn` does.
   *
   * With BIKEY_DATABASE_URL the role reaches the replica a moment later: who logs in with it repeats 28P01 and 28000
   * (no such role) and 42501 (no grant) for some seconds.
   */
  readonly login: (principal: Principal) => Promise<UpstreamLogin | null>;
  /** True, or why `login` would refuse. Rejects as `database.askOwn` does. */
  readonly canMakeRoles: () => Promise<true | AdmissionRefusal>;
  /**
   * Lets existing roles read a view that this transaction has made or replaced. The transaction takes
   * ADVISORY_LOCK.dataViews before it touches any view, else two of them deadlock.
   */
  readonly grantView: (transaction: Db, view: string) => Promise<void>;
  /** Drops the roles that nobody may use now, and ends their connections; see `sweepRoles`. */
  readonly sweep: () => Promise<void>;
  /** Null on the embedded store. */
  readonly serverLimits: () => Promise<ServerLimits | null>;
}

export interface RoleParts {
  readonly secret: Secret;
  /** Unix milliseconds of the installation's first start. */
  readonly installedAt: number;
}

/** A deleted key's role is gone after that time at most. */
const SWEEP_PAUSE_MS = 5_000;
/** SQLSTATE of a right that the gateway's role lacks. */
const INSUFFICIENT_PRIVILEGE = "42501";

export function openRoles(base: Base, identity: RoleParts): Part<Db> & { readonly roles: Roles } {
  const { database, settings } = base;
  const { DATABASE_URL } = settings;
  if (database.kind === "embedded" || DATABASE_URL === undefined) return { roles: NO_ROLES };
  const source = settings.BIKEY_DATABASE_URL ?? DATABASE_URL;
  const known = rememberServer(base, identity);
  const store = createRoleStore(database);
  const inProgress = new Map<string, Promise<void>>();

  /** Simultaneous logins of one principal with the same rights share one run. */
  const ensure = (principal: Principal, known: Known): Promise<void> => {
    const key = JSON.stringify(principal);
    const present = inProgress.get(key);
    if (present !== undefined) return present;
    const run = ensureRole(store, { ...known, principal }).finally(() => inProgress.delete(key));
    inProgress.set(key, run);
    return run;
  };
  const refused = async (thrown: unknown, role: string, user: string): Promise<unknown> => {
    if (toDatabaseError(thrown).code !== INSUFFICIENT_PRIVILEGE) return thrown;
    return (await database.askOwn(findRoleObstacle)) ?? notOurs(role, user);
  };
  const sweep = shareRuns(createSweep(base, { store, known }));
  const roles: Roles = {
    async login(principal) {
      const { scope, server } = await database.askOwn(known);
      const role = roleName(scope, principal.id);
      await ensure(principal, { scope, server }).catch(async (thrown: unknown) => {
        throw await refused(thrown, role, server.user);
      });
      const password = rolePassword(scope, role);
      const { isEncrypted } = server;
      return {
        url: roleUrl(source, { user: role, password, database: server.database, isEncrypted }),
      };
    },
    async canMakeRoles() {
      return (await database.askOwn(findRoleObstacle))?.refusal ?? true;
    },
    async grantView(transaction, view) {
      await grantViewToRoles(transaction, (await known(transaction)).scope, view);
    },
    sweep,
    async serverLimits() {
      const { scope } = await database.askOwn(known);
      return database.askOwn((db) => readServerLimits(db, scope.prefix));
    },
  };
  return {
    roles,
    jobs: [{ name: "data_roles", pauseMs: SWEEP_PAUSE_MS, firstMs: 1_000, run: sweep }],
  };
}

interface Known {
  readonly scope: RoleScope;
  readonly server: RoleServer;
}

/** Reads what cannot change while the server runs, once. */
function rememberServer({ log }: Base, identity: RoleParts): (db: Db) => Promise<Known> {
  let known: Known | undefined;
  return async (db) => {
    if (known !== undefined) return known;
    const server = await readServer(db);
    known = { scope: createScope(identity, server.database), server };
    log.debug({ prefix: known.scope.prefix }, "the roles of BI keys are named");
    return known;
  };
}

/** A failure is logged once for each role, because the sweep is repeated every few seconds. */
function createSweep(
  { clock, log }: Base,
  { store, known }: { readonly store: RoleStore; readonly known: (db: Db) => Promise<Known> },
) {
  const failed = new Set<string>();
  let isLimited = false;
  return async (): Promise<void> => {
    const { scope } = await store.ask(known);
    if (!isLimited) {
      await limitEverybody(store).catch((thrown: unknown) => {
        const err = toDatabaseError(thrown);
        log.warn({ err }, "what PUBLIC may do in the database could not be limited");
      });
      isLimited = true;
    }
    const onFailure = (role: string, thrown: unknown): void => {
      const err = toDatabaseError(thrown);
      if (failed.has(role) || isPassing(err) || !isFromDatabase(thrown)) return;
      failed.add(role);
      log.warn({ err, role }, "a role that nobody may use cannot be dropped; drop it by hand");
    };
    const isGivenUp = (role: string) => failed.has(role);
    await sweepRoles(store, { scope, now: clock.now(), onFailure, isGivenUp });
  };
}

const NO_ROLES: Roles = {
  login: () => Promise.resolve(null),
  canMakeRoles: () => Promise.resolve(true),
  grantView: () => Promise.resolve(),
  sweep: () => Promise.resolve(),
  serverLimits: () => Promise.resolve(null),
};
