import type { ServiceScope } from "./service-scope.ts";

export type Role = "admin" | "user";

/** Limits of a key. Null means unlimited; 0 refuses every call. */
export interface KeyLimits {
  /** Input and output tokens in a UTC calendar month. */
  readonly monthlyTokens: number | null;
  /** Calls over the key's life. */
  readonly requests: number | null;
  /** Calls in any 60 seconds. */
  readonly requestsPerMinute: number | null;
  /** Input and output tokens over the key's life. */
  readonly tokens: number | null;
}

/** A key or a person without limits. */
export const NO_LIMITS: KeyLimits = {
  monthlyTokens: null,
  requests: null,
  requestsPerMinute: null,
  tokens: null,
};

/** A call with an API key. */
export interface KeyCaller {
  readonly kind: "key";
  readonly keyId: string;
  readonly ownerId: string;
  /** The owner's role. */
  readonly role: Role;
  /** The only assistant that this key may call; null means that the key is not bound to one. */
  readonly assistantId: string | null;
  /** The client's tools and messages reach the model unchanged. */
  readonly passthrough: boolean;
  /** The most that tools may do in its calls. */
  readonly maxLevel: "read_only" | "write" | "full_auto";
  /** Names of the tools and saved connections that its calls may use, or patterns with a trailing `*`. */
  readonly toolScope: {
    readonly tools: readonly string[];
    readonly sql_connections: readonly string[];
  };
  /** Null when the key has no limits. */
  readonly limits: KeyLimits | null;
  /** The owner's limits, which bound the sum of the owner's keys and sessions. Absent without limits. */
  readonly personLimits?: KeyLimits | undefined;
  /**
   * The key has a limit, an expiry, an address list or an assistant. It may not change keys: it could lift its own
   * restrictions.
   */
  readonly isRestricted: boolean;
}

/** A call of a logged-in user. It writes no usage row, and no key's limit applies. */
export interface SessionCaller {
  readonly kind: "session";
  readonly sessionId: string;
  /** The id of the user, named as the owner of keys is. */
  readonly ownerId: string;
  readonly username: string;
  readonly role: Role;
  /** Only changing the password and logging out are allowed. */
  readonly mustChangePassword: boolean;
  readonly passthrough: false;
  /** The user's limits, as in `KeyCaller`. */
  readonly personLimits?: KeyLimits | undefined;
}

/** A call of a program with a service token. It administers within its scopes, and never calls a model. */
export interface ServiceTokenCaller {
  readonly kind: "service_token";
  readonly tokenId: string;
  readonly tokenName: string;
  /** The administrator who made it. What it creates without naming an owner is theirs. */
  readonly ownerId: string;
  /** It sees what an administrator sees, as far as its scopes reach. */
  readonly role: "admin";
  readonly scopes: ReadonlySet<ServiceScope>;
}

/** A call with a BI key. It reads data and does nothing else; its rights are decided anew for each call. */
export interface BiKeyCaller {
  readonly kind: "bi_key";
  readonly keyId: string;
  readonly keyName: string;
  readonly ownerId: string;
}

/** An authenticated caller of `/v1/data`. */
export type DataCaller = SessionCaller | BiKeyCaller;

/** An authenticated caller of `/v1` and its models. Created once by authentication, immutable, safe to share between requests. */
export type Caller = KeyCaller | SessionCaller;

/**
 * Returns a caller with the rights of this moment; undefined once its key or session is no longer valid. For a key it
 * does not wait. Rejects with `storage_unavailable`.
 */
export type CurrentCaller = (caller: Caller) => Caller | undefined | Promise<Caller | undefined>;

/** Any authenticated caller, aside from those who only read data. */
export type AnyCaller = Caller | ServiceTokenCaller;
