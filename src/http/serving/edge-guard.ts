import { ServiceError } from "../../core/service-error.ts";

const HOST = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
/** Encodings and forms that make two readers see two different paths. */
const AMBIGUOUS_PATH = /%(?:2f|5c|00)|\/\/|\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;
/** Model ids hold slashes, and client libraries encode them. Below this path they read one way, encoded or not. */
const MODEL_PATH = /^\/v1\/models\//;

/**
 * The first code that runs on a request: exactly one well-formed `Host` that this server answers to, and a path
 * that reads one way only. A malformed host makes some runtimes route wrongly, so nothing may run before this.
 *
 * @param host every `Host` header as it came, joined with a comma; null when there was none.
 * @param path the path as it came, without the query.
 * @param allowedHosts names without port; empty allows any.
 * @returns the refusal, or undefined when the request may go on.
 */
export function guardEdge(
  host: string | null,
  path: string,
  allowedHosts: readonly string[],
): ServiceError | undefined {
  if (host === null || !HOST.test(host)) {
    return new ServiceError("invalid_value", "Send exactly one well-formed Host header.", {
      param: "Host",
    });
  }
  if (allowedHosts.length > 0 && !allowedHosts.includes(hostName(host))) {
    return new ServiceError(
      "invalid_value",
      "This server does not answer to that host name; the operator lists its names in ALLOWED_HOSTS.",
      { param: "Host" },
    );
  }
  if (AMBIGUOUS_PATH.test(withPlainSlashes(path))) {
    return new ServiceError(
      "invalid_value",
      "The path holds an encoded or doubled separator; send a plain path.",
    );
  }
  return undefined;
}

function withPlainSlashes(path: string): string {
  return MODEL_PATH.test(path) ? path.replaceAll(/%2f/gi, "/") : path;
}

function hostName(host: string): string {
  return host.replace(/:\d{1,5}$/, "").toLowerCase();
}
