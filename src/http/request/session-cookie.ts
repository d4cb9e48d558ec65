import { SESSION_COOKIE } from "../../access/authenticate.ts";
import type { RequestContext } from "./route.ts";

/**
 * The console's cookie as `Set-Cookie`. No script reads it, and no page of another site makes the browser send it.
 *
 * @param maxAgeSeconds 0 takes it back.
 */
export function sessionCookie(
  { env }: RequestContext,
  token: string,
  maxAgeSeconds: number,
): string {
  const secure = env.isHttps() ? "; Secure" : "";
  return `${SESSION_COOKIE}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}
