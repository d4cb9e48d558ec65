import type { UserAccess } from "../../../../src/access/access.ts";
import type { SessionActor } from "../../../../src/access/actor.ts";
import { firstStart } from "../../../../src/access/first-start.ts";
import { hashCredentialUnder } from "../../../../src/access/hash-credential.ts";
import { createApiKey, newApiKeyText } from "../../../../src/access/keys/create-api-key.ts";
import { type ApiKeys, openApiKeys } from "../../../../src/access/keys/known/api-keys.ts";
import { openSecret } from "../../../../src/access/secret.ts";
import type { LoggedIn } from "../../../../src/access/sessions/login/logged-in.ts";
import { login } from "../../../../src/access/sessions/login/login.ts";
import { createLoginTurns } from "../../../../src/access/sessions/login/login-turns.ts";
import { createPasswords } from "../../../../src/access/sessions/passwords/passwords.ts";
import { openSessions, type Sessions } from "../../../../src/access/sessions/sessions.ts";
import { createUser } from "../../../../src/access/users/create-user.ts";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { withTransaction } from "../../../../src/db/context.ts";
import type { Database } from "../../../../src/db/database.ts";
import { createLog } from "../../../../src/lib/log.ts";
import { openTestDatabase } from "../../servers/databases/test-database.ts";

export const ADMIN_PASSWORD = "the administrator's password";
export const SESSION_HOURS = 12;

const log = createLog("error");
const secret = await openSecret({ APP_SECRET: "the secret of the tests", DATA_DIR: "" });
const hashes = {
  hashApiKey: hashCredentialUnder(secret, "api-keys"),
  hashBiKey: hashCredentialUnder(secret, "bi-keys"),
  hashServiceToken: hashCredentialUnder(secret, "service-tokens"),
  hashSession: hashCredentialUnder(secret, "sessions"),
};

export interface TestUserAccess {
  readonly access: UserAccess;
  readonly database: Database;
  readonly keys: ApiKeys;
  /** The keys as another replica holds them. */
  readonly otherKeys: ApiKeys;
  readonly sessions: Sessions;
  /** The time, and how many users the license allows; both may be set. */
  readonly world: { now: number; maxUsers: number };
  /** Logs in from an address of its own, so that no test stands in the way of another. */
  readonly logIn: (username: string, password: string, address?: string) => Promise<LoggedIn>;
  /** Logs in and acts. */
  readonly actorFor: (username: string, password: string) => Promise<SessionActor>;
  /** The administrator, logged in. */
  readonly admin: SessionActor;
  readonly createKey: (ownerId: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/**
 * All that users and logins stand on, with its administrator, at a time that stands still.
 *
 * @param given migrated; undefined: one of its own. Closed with the rest.
 */
export async function openUserAccess(given?: Database): Promise<TestUserAccess> {
  const database = given ?? (await openTestDatabase());
  const { settings } = loadConfig({ ADMIN_PASSWORD });
  await firstStart({ database, settings, log }, hashes.hashApiKey);
  const world = { now: Date.UTC(2026, 10, 21), maxUsers: 1_000 };
  const clock = { now: () => world.now };
  const keys = await openApiKeys({ database, hashApiKey: hashes.hashApiKey, log });
  const otherKeys = await openApiKeys({ database, hashApiKey: hashes.hashApiKey, log });
  const sessions = openSessions({ database, clock, log }, hashes.hashSession);
  const access: UserAccess = {
    database,
    clock,
    keys,
    maxUsers: () => world.maxUsers,
    passwords: createPasswords(),
    inLoginTurn: createLoginTurns(),
    sessionHours: SESSION_HOURS,
    oidcOnly: false,
    ...hashes,
  };
  let logins = 0;
  const logIn = (username: string, password: string, address = `10.0.0.${++logins}`) =>
    login(access, { username, password }, { address, requestId: "req_login" });
  const actorFor = async (username: string, password: string): Promise<SessionActor> => {
    const caller = await sessions.find((await logIn(username, password)).token);
    if (caller === undefined) throw new Error(`${username} has no session`);
    return { caller, address: "192.0.2.1", requestId: "req_test" };
  };
  return {
    access,
    database,
    keys,
    otherKeys,
    sessions,
    world,
    logIn,
    actorFor,
    admin: await actorFor("admin", ADMIN_PASSWORD),
    async createKey(ownerId) {
      const text = newApiKeyText();
      await withTransaction(database.db, (transaction) =>
        createApiKey(transaction, { name: "a key", ownerId, text }, hashes.hashApiKey),
      );
      await keys.catchUp();
      await otherKeys.catchUp();
      return text;
    },
    async close() {
      sessions.close();
      await keys.close();
      await otherKeys.close();
      await database.close();
    },
  };
}

/** A user with this password, whose first change is pending. */
export async function addUser(
  { access, admin }: TestUserAccess,
  username: string,
  password: string,
  role: "admin" | "user" = "user",
): Promise<string> {
  return (await createUser(access, admin, { username, password, role })).user.id;
}
