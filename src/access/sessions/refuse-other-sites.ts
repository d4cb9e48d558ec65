import { ServiceError } from "../../core/service-error.ts";
import { isOriginOf } from "../../lib/http/is-origin-of.ts";

const CHANGES_NOTHING = new Set(["GET", "HEAD"]);
/** The value `none` is an action of the user, such as a typed address. */
const OWN_SITE = new Set(["same-origin", "none"]);

/**
 * Refuses changes for a page of another site. A browser adds the console's cookie to every request it sends here, so a
 * cookie does not prove the user's intent. Programs other than browsers send neither header.
 */
export function refuseOtherSites({
  method,
  headers,
}: {
  readonly method: string;
  readonly headers: Headers;
}): void {
  if (CHANGES_NOTHING.has(method)) return;
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isOwnSite = site === null || OWN_SITE.has(site);
  if (isOwnSite && (origin === null || isOriginOf(origin, headers.get("host")))) return;
  throw new ServiceError(
    "insufficient_permission",
    "A page of another site cannot use the console's cookie. " +
      "Behind a proxy, make sure that it passes the Host header unchanged.",
  );
}
