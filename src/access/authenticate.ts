import type {
  AnyCaller,
  Caller,
  KeyCaller,
  ServiceTokenCaller,
  SessionCaller,
} from "../core/caller.ts";
import { ServiceError } from "../core/service-error.ts";
import type { ServiceScope } from "../core/service-scope.ts";
import { type ApiKey, isUsable } from "./keys/known/api-key.ts";
import type { ApiKeys } from "./keys/known/api-keys.ts";
import { unusableApiKey } from "./keys/known/unusable-api-key.ts";
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

/** The console's cookie. */
export const SESSION_COOKIE = "gateway_session";

/** 20 to 512 characters, as settings accept them; longer texts are not looked up. */
const KEY = /^sk-[\x21-\x7e]{17,509}$/;
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const SESSION = /^ses_[A-Za-z0-9]{43}$/;
const SERVICE_TOKEN = /^sv-[A-Za-z0-9]{43}$/;
const BI_KEY = /^(?:bearer +)?bk-/i;

export interface AuthenticationSources {
  readonly keys: Pick<ApiKeys, "find" | "noteUse">;
  readonly sessions: Pick<Sessions, "find">;
  readonly tokens: Pick<ServiceTokens, "find" | "noteUse">;
}

/**
 * Creates the function that identifies the caller and refuses callers without access. If `Authorization: Bearer` and
 * `x-api-key` both have a well-formed key, the former is used. The restrictions of the key hold whichever header
 * carries it.
 */
export function createAuthenticate(sources: AuthenticationSources): Authenticate {
  const authenticate = (level: AccessLevel, credentials: Credentials, scope?: ServiceScope) => {
    if (level === "open") return undefined;
    const { headers } = credentials;
    const fromHeader = bearer(headers) ?? plainKey(headers);
    const text = fromHeader ?? cookieSession(level, headers);
    if (text === undefined) throw carriesBiKey(headers) ? biKeyRefused() : missing(level);
    if (fromHeader === undefined) refuseOtherSites(credentials);
    if (text.startsWith("sk-")) return keyCaller(level, text, sources, credentials);
    return text.startsWith("sv-")
      ? tokenCaller(text, sources, { credentials, scope })
      : sessionCaller(level, text, sources);
  };
  return authenticate as Authenticate;
}

function bearer(headers: Headers): string | undefined {
  const text = BEARER.exec(headers.get("authorization") ?? "")?.[1];
  // The scheme is case-insensitive, the prefix is not.
  return text !== undefined && isCredential(text) ? text : undefined;
}

function isCredential(text: string): boolean {
  return KEY.test(text) || SESSION.test(text) || SERVICE_TOKEN.test(text);
}

function plainKey(headers: Headers): string | undefined {
  const value = headers.get("x-api-key");
  return value !== null && KEY.test(value) ? value : undefined;
}

function carriesBiKey(headers: Headers): boolean {
  return ["authorization", "x-api-key"].some((name) => BI_KEY.test(headers.get(name) ?? ""));
}

function cookieSession(level: AccessLevel, headers: Headers): string | undefined {
  if (level === "caller") return undefined;
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [name, value = ""] = pair.trim().split("=", 2);
    if (name === SESSION_COOKIE && SESSION.test(value)) return value;
  }
  return undefined;
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
  if (level !== "caller" && level !== "person") {
    throw new ServiceError(
      "insufficient_permission",
      "An API key is valid under /v1 and /api/pipeline and at /mcp only. This path needs the session of a logged-in user.",
    );
  }
  keys.noteUse(key.caller.keyId, now);
  return key.caller;
}

interface TokenUse {
  readonly credentials: Credentials;
  /** Undefined on a route that no service token may call. */
  readonly scope: ServiceScope | undefined;
}

async function tokenCaller(
  text: string,
  { tokens }: AuthenticationSources,
  { credentials: { now, address }, scope }: TokenUse,
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
    "BI keys read data only. Send an API key, `sk-…`, as `Authorization: Bearer sk-…` or as `x-api-key`.",
  );
}

function missing(level: AccessLevel): ServiceError {
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
