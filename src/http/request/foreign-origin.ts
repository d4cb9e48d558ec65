import { ServiceError } from "../../core/service-error.ts";

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
  if (host !== null && isSame(origin, host)) return undefined;
  return new ServiceError(
    "insufficient_permission",
    "Pages of this origin may not call this path; the operator lists those that may in CORS_ORIGINS.",
    { param: "Origin" },
  );
}

/** Compares names and ports. Behind a proxy the scheme is not known, so each scheme's own port counts as none. */
function isSame(origin: string, host: string): boolean {
  const [, scheme = "", authority = ""] = /^(https?):\/\/([^/?#@]+)$/i.exec(origin) ?? [];
  const ownPort = scheme.toLowerCase() === "https" ? /:443$/ : /:80$/;
  const plain = (text: string) => text.toLowerCase().replace(ownPort, "");
  return authority !== "" && plain(authority) === plain(host);
}
