import { ServiceError } from "../../core/service-error.ts";
import { isOriginOf } from "../../lib/http/is-origin-of.ts";

/**
 * Refuses a request that a page of another site has sent, unless CORS_ORIGINS lists the site: a page must not reach the
 * tools of a gateway in its visitor's network. A client that is no browser sends no `Origin`.
 *
 * @param host is the `Host` header; null when it is not known.
 * @param allowed as CORS_ORIGINS lists them; `*` is any.
 */
export function foreignOrigin(
  origin: string | null,
  host: string | null,
  allowed: readonly string[],
): ServiceError | undefined {
  if (origin === null || allowed.includes("*") || allowed.includes(origin)) return undefined;
  if (isOriginOf(origin, host)) return undefined;
  return new ServiceError(
    "insufficient_permission",
    "Pages of this origin may not call this path; the operator lists those that may in CORS_ORIGINS.",
    { param: "Origin" },
  );
}
