import { SESSION_COOKIE } from "../../access/sent-credential.ts";
import type { RequestContext } from "./routes/route.ts";

/**
 * Returns the console's cookie as `Set-Cookie`. No script can read it, and browsers do not send it for pages of other
 * sites.
 *
 * @param maxAgeSeconds removes the cookie when it is 0.
 */
export function sessionCookie(
  { env }: RequestContext,
  token: string,
  maxAgeSeconds: number,
): string {
  const secure = env.isHttps() ? "; Secure" : "";
  return `${SESSION_COOKIE}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}
