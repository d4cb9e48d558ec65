import type {
  AnyCaller,
  BiKeyCaller,
  Caller,
  DataCaller,
  KeyCaller,
  ServiceTokenCaller,
  SessionCaller,
} from "../core/callers/caller.ts";
import type { ServiceScope } from "../core/callers/service-scope.ts";
import { ServiceError } from "../core/service-error.ts";
import { isUsableBiKey, type KnownBiKey, unusableBiKey } from "./bi-keys/known/known-bi-key.ts";
import type { KnownBiKeys } from "./bi-keys/known/known-bi-keys.ts";
import { type ApiKey, isUsable } from "./keys/known/api-key.ts";
import type { ApiKeys } from "./keys/known/api-keys.ts";
import { unusableApiKey } from "./keys/known/unusable-api-key.ts";
import { sentCredential } from "./sent-credential.ts";
import { type KnownToken, unusableServiceToken } from "./service-tokens/known-token.ts";
import type { ServiceTokens } from "./service-tokens/known-tokens.ts";
import { refuseOtherSites } from "./sessions/refuse-other-sites.ts";
import { sessionOver } from "./sessions/session-over.ts";
import type { Sessions } from "./sessions/sessions.ts";

/**
 * The callers that may use a route:
 * - `open`: anyone; no credential is read;
 * - `caller`: an API key or a session, in a header; cookies are not read;
 * - `person`: an API key as its owner, or a logged-in user by header or by the console's cookie;
 * - `data`: a BI key, or a logged-in user by header; cookies are not read, and `/api/v1/data` is there for them;
 * - `session`: a logged-in user, by header or by the console's cookie;
 * - `pending-session`: also a user whose first password change is pending;
 * - `administrator`: a logged-in administrator.
 *
 * A service token is refused by all of them, unless the route declares a scope.
 */
export type AccessLevel = keyof CallerAt;

/** The caller that a route of each level receives. */
export interface CallerAt {
  readonly open: undefined;
  readonly caller: Caller;
  readonly person: Caller;
  readonly data: DataCaller;
  readonly session: SessionCaller;
  readonly "pending-session": SessionCaller;
  readonly administrator: SessionCaller;
}

/** The parts of a request that identify its sender. */
export interface Credentials {
  readonly method: string;
  readonly headers: Headers;
  /** Returns the client's address, as IPv4 when it is an IPv4-mapped IPv6 address; null when it is not known. */
  readonly address: () => string | null;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Throws or rejects with a `ServiceError`. A known key is accepted synchronously; a session or an unknown key needs a
 * query. With a scope, service tokens that have it may call too.
 */
export interface Authenticate {
  <Level extends AccessLevel>(
    level: Level,
    credentials: Credentials,
  ): CallerAt[Level] | Promise<CallerAt[Level]>;
  <Level extends AccessLevel>(
    level: Level,
    credentials: Credentials,
    scope: ServiceScope | undefined,
  ): AnyCallerAt<Level> | Promise<AnyCallerAt<Level>>;
}

export type AnyCallerAt<Level extends AccessLevel> = CallerAt[Level] | ServiceTokenCaller;

export interface AuthenticationSources {
  readonly keys: Pick<ApiKeys, "find" | "noteUse">;
  readonly sessions: Pick<Sessions, "find">;
  readonly tokens: Pick<ServiceTokens, "find" | "noteUse">;
  readonly biKeys: Pick<KnownBiKeys, "find" | "noteUse">;
}

/**
 * Creates the function that identifies the caller and refuses callers without access. If `Authorization: Bearer` and
 * `x-api-key` both have a well-formed key, the former is used. The restrictions of the key hold whichever header
 * carries it.
 */
export function createAuthenticate(sources: AuthenticationSources): Authenticate {
  const authenticate = (level: AccessLevel, credentials: Credentials, scope?: ServiceScope) => {
    if (level === "open") return undefined;
    const sent = sentCredential(credentials.headers, {
      byCookie: level !== "caller" && level !== "data",
      byBiKey: level === "data",
    });
    if (sent === undefined) throw missing(level);
    if (sent === "BI key") throw level === "data" ? unusableBiKey() : biKeyRefused();
    if (sent === "service token") throw misplacedServiceToken();
    if (sent.isCookie) refuseOtherSites(credentials);
    return callerWith(level, sent.text, sources, { credentials, scope });
  };
  return authenticate as Authenticate;
}

function callerWith(
  level: AccessLevel,
  text: string,
  sources: AuthenticationSources,
  use: CredentialUse,
): AnyCaller | BiKeyCaller | Promise<AnyCaller | BiKeyCaller> {
  if (text.startsWith("sk-")) return keyCaller(level, text, sources, use.credentials);
  if (text.startsWith("bk-")) return biKeyCaller(text, sources, use.credentials);
  return text.startsWith("sv-")
    ? tokenCaller(text, sources, use)
    : sessionCaller(level, text, sources);
}

function keyCaller(
  level: AccessLevel,
  text: string,
  { keys }: AuthenticationSources,
  credentials: Credentials,
): KeyCaller | Promise<KeyCaller> {
  const key = keys.find(text, credentials.now);
  return key instanceof Promise
    ? key.then((found) => letIn(level, found, keys, credentials))
    : letIn(level, key, keys, credentials);
}

function letIn(
  level: AccessLevel,
  key: ApiKey | undefined,
  keys: AuthenticationSources["keys"],
  { now, address }: Credentials,
): KeyCaller {
  if (key === undefined || !isUsable(key, now)) throw unusableApiKey();
  if (key.ipAllow !== null && !key.ipAllow.has(address())) {
    throw new ServiceError(
      "ip_denied",
      "This API key may not be used from the address that the call came from.",
    );
  }
  if (level === "data") {
    throw new ServiceError(
      "insufficient_permission",
      "An API key reads no data. Send a BI key, `bk-…`, which an administrator issues with POST /v1/bi-keys, or the token of a session.",
    );
  }
  if (level !== "caller" && level !== "person") {
    throw new ServiceError(
      "insufficient_permission",
      "An API key is valid under /v1, /api/pipeline and /api/datasets and at /mcp only. This path needs the session of a logged-in user.",
    );
  }
  keys.noteUse(key.caller.keyId, now);
  return key.caller;
}

function biKeyCaller(
  text: string,
  { biKeys }: AuthenticationSources,
  credentials: Credentials,
): BiKeyCaller | Promise<BiKeyCaller> {
  const key = biKeys.find(text);
  return key instanceof Promise
    ? key.then((found) => letInToData(found, biKeys, credentials))
    : letInToData(key, biKeys, credentials);
}

function letInToData(
  key: KnownBiKey | undefined,
  biKeys: AuthenticationSources["biKeys"],
  { now, address }: Credentials,
): BiKeyCaller {
  if (key === undefined || !isUsableBiKey(key, now)) throw unusableBiKey();
  if (key.ipAllow !== null && !key.ipAllow.has(address())) {
    throw new ServiceError(
      "ip_denied",
      "This BI key may not be used from the address that the call came from.",
    );
  }
  biKeys.noteUse(key.id, now);
  return key.caller;
}

interface CredentialUse {
  readonly credentials: Credentials;
  /** Undefined on a route that no service token may call. */
  readonly scope: ServiceScope | undefined;
}

async function tokenCaller(
  text: string,
  { tokens }: AuthenticationSources,
  { credentials: { now, address }, scope }: CredentialUse,
): Promise<AnyCaller> {
  const token = usable(await tokens.find(text), now);
  const { caller, ipAllow } = token;
  if (ipAllow !== null && !ipAllow.has(address())) {
    throw new ServiceError(
      "ip_denied",
      "This service token may not be used from the address that the call came from.",
    );
  }
  if (scope === undefined) {
    throw new ServiceError(
      "insufficient_permission",
      "No service token may do this. It opens the routes of its scopes under /api, /v1/api-keys and /v1/bi-keys.",
    );
  }
  if (!caller.scopes.has(scope)) {
    throw new ServiceError(
      "insufficient_permission",
      `The service token lacks the scope ${scope}. An administrator adds it with PATCH /api/service-tokens/${caller.tokenId}.`,
    );
  }
  tokens.noteUse(caller.tokenId, now);
  return caller;
}

function usable(token: KnownToken | undefined, now: number): KnownToken {
  const isExpired = token?.expiresAt != null && token.expiresAt <= now;
  if (token === undefined || !token.isActive || isExpired) throw unusableServiceToken();
  return token;
}

async function sessionCaller(
  level: AccessLevel,
  text: string,
  { sessions }: AuthenticationSources,
): Promise<SessionCaller> {
  const caller = await sessions.find(text);
  if (caller === undefined) throw sessionOver();
  if (caller.mustChangePassword && level !== "pending-session") {
    throw new ServiceError(
      "password_change_required",
      "The first password must be changed before anything else: POST /api/auth/password.",
    );
  }
  if (level === "administrator" && caller.role !== "admin") {
    throw new ServiceError("insufficient_permission", "Only an administrator may do this.");
  }
  return caller;
}

/** Returns the same error for every text of this kind, so that it does not reveal whether the text is a key. */
function biKeyRefused(): ServiceError {
  return new ServiceError(
    "invalid_api_key",
    "BI keys read data only, under /v1/data and at the PostgreSQL port. Here, send an API key, `sk-…`, as `Authorization: Bearer sk-…` or as `x-api-key`.",
  );
}

function misplacedServiceToken(): ServiceError {
  return new ServiceError(
    "invalid_api_key",
    "A service token is sent whole, as `Authorization: Bearer sv-…`, and opens the routes of its scopes under /api, /v1/api-keys and /v1/bi-keys.",
  );
}

function missing(level: AccessLevel): ServiceError {
  if (level === "data") {
    return new ServiceError(
      "invalid_api_key",
      "No BI key and no session came with the call. Send the key as `Authorization: Bearer bk-…` or as `x-api-key`.",
    );
  }
  if (level === "person") {
    return new ServiceError(
      "session_required",
      "No session and no API key came with the call. Log in with POST /api/auth/login, or send a key as `Authorization: Bearer sk-…`.",
    );
  }
  return level === "caller"
    ? new ServiceError(
        "invalid_api_key",
        "No well-formed API key came with the call. Send it as `Authorization: Bearer sk-…` or as `x-api-key`.",
      )
    : new ServiceError(
        "session_required",
        "No session came with the call. Log in with POST /api/auth/login and send its token as `Authorization: Bearer ses_…`.",
      );
}
