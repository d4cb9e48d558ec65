import { count } from "drizzle-orm";
import { isOpenToEverybody } from "../config/sign-in-settings.ts";
import type { CurrentCaller } from "../core/callers/caller.ts";
import { byLabel } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Db } from "../db/context.ts";
import { apiKeys } from "../db/tables/api-keys.ts";
import { zeroCounts } from "../lib/zero-counts.ts";
import type { UserAccess } from "./access.ts";
import { auditSettings } from "./audit/audit-settings.ts";
import { type Authenticate, createAuthenticate } from "./authenticate.ts";
import { type KnownBiKeys, openBiKeys } from "./bi-keys/known/known-bi-keys.ts";
import { type FirstSecrets, firstStart } from "./first-start.ts";
import { hashCredentialUnder } from "./hash-credential.ts";
import { createFindKeyCaller, type FindKeyCaller } from "./keys/find-key-caller.ts";
import { openApiKeys } from "./keys/known/api-keys.ts";
import type { Secret } from "./secret.ts";
import { openServiceTokens } from "./service-tokens/known-tokens.ts";
import { createLoginTurns } from "./sessions/login/login-turns.ts";
import { createPasswords } from "./sessions/passwords/passwords.ts";
import { openSessions } from "./sessions/sessions.ts";
import { type OpenSignIn, openSignIn } from "./sign-in/open-sign-in.ts";

export interface OpenAccessOptions {
  readonly secret: Secret;
  readonly maxUsers: UserAccess["maxUsers"];
  /** Called as soon as the generated secrets of this start are in the database, because they can be shown only once. */
  readonly onFirstSecrets: (secrets: FirstSecrets) => void;
}

export interface OpenAccess extends Part<Db> {
  readonly authenticate: Authenticate;
  /**
   * Returns a caller with the rights that its key has now, for calls that last; undefined once the key is no longer
   * valid. Sessions are not held in memory, so theirs stay as they were. Does not wait.
   */
  readonly currentCaller: CurrentCaller;
  readonly findKeyCaller: FindKeyCaller;
  /** The BI keys in memory, for the admission of those who read data. */
  readonly biKeys: KnownBiKeys;
  /** Undefined unless there is an OpenID Connect provider. */
  readonly signIn: OpenSignIn | undefined;
  /** For the functions of users, keys and the audit log. */
  readonly access: UserAccess;
}

const KEY_STATES = ["active", "inactive"] as const;

/** Ensures that there is an administrator and a usable key, and opens the keys and sessions. */
export async function openAccess(
  base: Base,
  { secret, maxUsers, onFirstSecrets }: OpenAccessOptions,
): Promise<OpenAccess> {
  const { settings, database, clock, log } = base;
  if (isOpenToEverybody(settings)) {
    log.warn(
      { issuer: settings.OIDC_ISSUER },
      "everybody with an account at this public provider can sign in here; list who may in OIDC_ALLOWED_VALUES, by OIDC_ADMIN_CLAIM",
    );
  }
  const hashApiKey = hashCredentialUnder(secret, "api-keys");
  const hashBiKey = hashCredentialUnder(secret, "bi-keys");
  const hashServiceToken = hashCredentialUnder(secret, "service-tokens");
  const hashSession = hashCredentialUnder(secret, "sessions");
  onFirstSecrets(await firstStart(base, hashApiKey));
  await auditSettings(base, secret);
  const keys = await openApiKeys({ ...base, hashApiKey });
  const tokens = await openServiceTokens({ ...base, hashServiceToken });
  const biKeys = await openBiKeys({ ...base, hashBiKey });
  const sessions = openSessions(base, hashSession);
  const catchUp = async () =>
    void (await Promise.all([keys.catchUp(), tokens.catchUp(), biKeys.catchUp()]));
  let keyCounts: Record<(typeof KEY_STATES)[number], number> | undefined;
  return {
    signIn: openSignIn(base, secret),
    authenticate: createAuthenticate({ keys, sessions, tokens, biKeys }),
    currentCaller: (caller) =>
      caller.kind === "key"
        ? keys.current(caller.keyId, clock.now())
        : sessions.current(caller.sessionId),
    biKeys,
    findKeyCaller: createFindKeyCaller({ keys, ask: database.askOwn, clock }),
    access: {
      database,
      clock,
      keys: { catchUp },
      maxUsers,
      passwords: createPasswords(),
      inLoginTurn: createLoginTurns(),
      oidcOnly: settings.OIDC_ONLY,
      sessionHours: settings.SESSION_LIFETIME_HOURS,
      hashApiKey,
      hashBiKey,
      hashServiceToken,
      hashSession,
    },
    metrics: [
      {
        name: "svc_api_keys",
        type: "gauge",
        help: "API keys by state.",
        labels: ["state"],
        read: () => byLabel("state", keyCounts),
      },
    ],
    async refreshStored(db) {
      keyCounts = await countApiKeys(db);
    },
    async close() {
      sessions.close();
      await Promise.all([keys.close(), tokens.close(), biKeys.close()]);
    },
  };
}

export async function countApiKeys(db: Db): Promise<Record<(typeof KEY_STATES)[number], number>> {
  const rows = await db
    .select({ state: apiKeys.state, keys: count() })
    .from(apiKeys)
    .groupBy(apiKeys.state);
  const counts = zeroCounts(KEY_STATES);
  for (const { state, keys } of rows) counts[state] = keys;
  return counts;
}
