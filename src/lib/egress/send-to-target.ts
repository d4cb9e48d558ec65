import { EgressError } from "./egress-error.ts";
import type { EgressTarget } from "./egress-target.ts";
import {
  PinnedFailure,
  type PinnedRequest,
  type PinnedResponse,
  sendPinned,
} from "./pinned-request.ts";

/** The number of addresses of one host that are tried. */
const MOST_ADDRESSES = 4;

/** What the system reports of a certificate that it does not accept for the host. */
const CERTIFICATE_CODES = /CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE/;

const HEADER_CODES: ReadonlySet<unknown> = new Set([
  "ERR_INVALID_CHAR",
  "ERR_INVALID_HTTP_TOKEN",
  "ERR_HTTP_INVALID_HEADER_VALUE",
]);

/**
 * Tries the addresses one after the other until one answers. A request other than GET is not repeated once a server may
 * have it. `connectTimeoutMs` is for all addresses together. Rejects with an `EgressError`, or with the signal's reason.
 */
export async function sendToTarget(
  { url, addresses }: EgressTarget,
  { connectTimeoutMs, ...request }: Omit<PinnedRequest, "url" | "address">,
): Promise<PinnedResponse> {
  const endsAt = performance.now() + (connectTimeoutMs ?? 0);
  const tried = addresses.slice(0, MOST_ADDRESSES);
  let failure: unknown;
  for (const [index, address] of tried.entries()) {
    // An address that swallows everything leaves the others their share.
    const share = Math.max(1, (endsAt - performance.now()) / (tried.length - index));
    try {
      return await sendPinned({
        ...request,
        url,
        address,
        ...(connectTimeoutMs !== undefined && { connectTimeoutMs: share }),
      });
    } catch (thrown) {
      request.signal.throwIfAborted();
      failure = thrown;
      const mayHaveArrived = thrown instanceof PinnedFailure && thrown.mayHaveArrived;
      if (mayHaveArrived && request.method !== "GET") break;
    }
  }
  throw toEgressError(failure);
}

/** Describes what a connection failed with. Texts of the system are left out, because they hold addresses. */
export function toEgressError(thrown: unknown): EgressError {
  if (thrown instanceof EgressError) return thrown;
  const failure = thrown instanceof PinnedFailure ? thrown.cause : thrown;
  const code = codeOf(failure);
  const options = { cause: failure };
  if (thrown instanceof PinnedFailure && thrown.isTimeout) {
    return new EgressError("timeout", "it did not accept the connection in time", options);
  }
  if (HEADER_CODES.has(code)) {
    return new EgressError("invalid_header", "one of its headers cannot be sent", options);
  }
  if (typeof code === "string" && CERTIFICATE_CODES.test(code)) {
    const text =
      "its certificate is invalid, is for another host or comes from an unknown authority";
    return new EgressError("certificate", text, options);
  }
  return new EgressError("failed", "its server is unreachable or closed the connection", options);
}

function codeOf(thrown: unknown): unknown {
  return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "code") : undefined;
}
