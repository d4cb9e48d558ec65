import { BI_KEY } from "./bi-keys/known/known-bi-key.ts";

/** The console's cookie. */
export const SESSION_COOKIE = "gateway_session";

/** 20 to 512 characters, as settings accept them; longer texts are not looked up. */
const KEY = /^sk-[\x21-\x7e]{17,509}$/;
const BEARER = /^bearer +([\x21-\x7e]+)$/i;
const SESSION = /^ses_[A-Za-z0-9]{43}$/;
const SERVICE_TOKEN = /^sv-[A-Za-z0-9]{43}$/;
const LIKE_BI_KEY = /^(?:bearer +)?bk-/i;
const LIKE_SERVICE_TOKEN = /^(?:bearer +)?sv-/i;

/** What a route takes beside the credentials in `Authorization` that every route takes. */
export interface TakenCredentials {
  /** A session in the console's cookie. */
  readonly byCookie: boolean;
  /** A BI key, in either header. */
  readonly byBiKey: boolean;
}

export interface SentCredential {
  /** Well-formed: `sk-…`, `bk-…`, `sv-…` or `ses_…`. */
  readonly text: string;
  readonly isCookie: boolean;
}

/**
 * Returns the well-formed credential of a request: of `Authorization: Bearer`, else of `x-api-key`, else of the cookie.
 * Returns "BI key" or "service token" when there is only what resembles one, which this route or header does not take or
 * which is malformed.
 */
export function sentCredential(
  headers: Headers,
  { byCookie, byBiKey }: TakenCredentials,
): SentCredential | "BI key" | "service token" | undefined {
  const isKey = (text: string) => KEY.test(text) || (byBiKey && BI_KEY.test(text));
  const fromHeader = bearer(headers, isKey) ?? plainKey(headers, isKey);
  if (fromHeader !== undefined) return { text: fromHeader, isCookie: false };
  const fromCookie = byCookie ? cookieSession(headers) : undefined;
  if (fromCookie !== undefined) return { text: fromCookie, isCookie: true };
  if (carries(headers, LIKE_BI_KEY)) return "BI key";
  return carries(headers, LIKE_SERVICE_TOKEN) ? "service token" : undefined;
}

function bearer(headers: Headers, isKey: (text: string) => boolean): string | undefined {
  const text = BEARER.exec(headers.get("authorization") ?? "")?.[1];
  if (text === undefined) return undefined;
  // The scheme is case-insensitive, the prefix is not.
  return isKey(text) || SESSION.test(text) || SERVICE_TOKEN.test(text) ? text : undefined;
}

function plainKey(headers: Headers, isKey: (text: string) => boolean): string | undefined {
  const value = headers.get("x-api-key");
  return value !== null && isKey(value) ? value : undefined;
}

function carries(headers: Headers, like: RegExp): boolean {
  return ["authorization", "x-api-key"].some((name) => like.test(headers.get(name) ?? ""));
}

function cookieSession(headers: Headers): string | undefined {
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [name, value = ""] = pair.trim().split("=", 2);
    if (name === SESSION_COOKIE && SESSION.test(value)) return value;
  }
  return undefined;
}
