import type { TrustedProxies } from "./client-address.ts";

/**
 * Returns true when the client's own connection used TLS, as the proxy reports. Of several proxies the outermost one,
 * on the left, has the client's connection.
 *
 * @param peer is the other end of the connection; null when the server does not know it.
 * @param forwardedProto is the header X-Forwarded-Proto.
 */
export function isForwardedHttps(
  peer: string | null,
  forwardedProto: string | null,
  trusted: TrustedProxies,
): boolean {
  const isTrusted = typeof trusted === "number" ? trusted > 0 : trusted.has(peer);
  return isTrusted && forwardedProto?.split(",")[0]?.trim().toLowerCase() === "https";
}
