import type { TrustedProxies } from "./client-address.ts";

/**
 * True when the client's own connection was over TLS, as the proxy in front tells. Of several proxies the outermost,
 * on the left, is the one that the client spoke to.
 *
 * @param peer the other end of the connection; null when the server does not know it.
 * @param forwardedProto the header X-Forwarded-Proto.
 */
export function isForwardedHttps(
  peer: string | null,
  forwardedProto: string | null,
  trusted: TrustedProxies,
): boolean {
  const isTrusted = typeof trusted === "number" ? trusted > 0 : trusted.has(peer);
  return isTrusted && forwardedProto?.split(",")[0]?.trim().toLowerCase() === "https";
}
