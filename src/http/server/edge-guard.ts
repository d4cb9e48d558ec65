import { ServiceError } from "../../core/service-error.ts";
import type { RouteProperties } from "../request/routes/route.ts";

/** With `_`, which is no host name of the internet, but one that networks of containers give. */
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
/** Encodings and forms in which two readers see two different paths. */
const AMBIGUOUS_PATH = /%(?:2f|5c|00)|\/\/|\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;

/**
 * The first code that runs on a request. It requires exactly one well-formed `Host` that this server answers to, and an
 * unambiguous path. A malformed host makes some runtimes route wrongly, so nothing may run before this.
 *
 * @param host is every `Host` header as received, joined with a comma; null when there was no such header.
 * @param path is the path as received, without the query.
 * @param allowedHosts are names without port; an empty list allows any.
 * @returns the refusal, or undefined when the request may continue.
 */
export function guardEdge(
  host: string | null,
  path: string,
  route: Pick<RouteProperties, "anyAddress" | "encodedSlashes">,
  allowedHosts: readonly string[],
): ServiceError | undefined {
  if (host === null || !HOST.test(host)) {
    return new ServiceError("invalid_value", "Send exactly one well-formed Host header.", {
      param: "Host",
    });
  }
  if (!isAllowed(hostName(host), route, allowedHosts)) {
    return new ServiceError(
      "invalid_value",
      "This server does not answer to that host name; the operator lists its names in ALLOWED_HOSTS.",
      { param: "Host" },
    );
  }
  // Model ids contain slashes, which client libraries encode. In these paths a slash has one meaning, encoded or not.
  const plainPath = route.encodedSlashes ? path.replaceAll(/%2f/gi, "/") : path;
  if (AMBIGUOUS_PATH.test(plainPath)) {
    return new ServiceError(
      "invalid_value",
      "The path holds an encoded or doubled separator; send a plain path.",
    );
  }
  return undefined;
}

function isAllowed(
  name: string,
  { anyAddress }: Pick<RouteProperties, "anyAddress">,
  allowedHosts: readonly string[],
): boolean {
  if (allowedHosts.length === 0 || allowedHosts.includes(name)) return true;
  return anyAddress && ADDRESS.test(name);
}

/**
 * Refuses a body with a further transfer coding in addition to chunked, because two readers in a row may not agree
 * where it ends.
 *
 * @param transferEncoding is the header as received, if the runtime does not refuse it itself.
 */
export function guardCoding(transferEncoding: string | undefined): ServiceError | undefined {
  if (transferEncoding === undefined || /^\s*chunked\s*$/i.test(transferEncoding)) return undefined;
  return new ServiceError("invalid_value", "The only supported Transfer-Encoding is chunked.", {
    param: "Transfer-Encoding",
  });
}

function hostName(host: string): string {
  return host.replace(/:\d{1,5}$/, "").toLowerCase();
}
