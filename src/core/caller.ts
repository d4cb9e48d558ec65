export type Role = "admin" | "user";

/** Limits of a key; null is unlimited, 0 refuses. */
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

/** A call with an API key. */
export interface KeyCaller {
  readonly kind: "key";
  readonly keyId: string;
  readonly ownerId: string;
  /** The owner's. */
  readonly role: Role;
  /** The one assistant that it may call; null binds it to none. */
  readonly assistantId: string | null;
  /** The client's tools and messages reach the model unchanged. */
  readonly passthrough: boolean;
  /** Null when nothing of the key is limited. */
  readonly limits: KeyLimits | null;
  /** It has a limit, an expiry, an address list or an assistant: it may change no key, or it could lift what holds it. */
  readonly isRestricted: boolean;
}

/** A call of a logged-in user. It is not metered, and no key's limit applies. */
export interface SessionCaller {
  readonly kind: "session";
  readonly sessionId: string;
  /** The user's id, by the name it has for keys. */
  readonly ownerId: string;
  readonly username: string;
  readonly role: Role;
  /** Nothing is allowed but to change the password and to log out. */
  readonly mustChangePassword: boolean;
  readonly passthrough: false;
}

/** Who calls. Made once by authentication, immutable, safe to share between requests. */
export type Caller = KeyCaller | SessionCaller;
