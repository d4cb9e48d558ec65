import { normalAddress } from "../../lib/egress/ip-address.ts";
import type { IpRanges } from "../../lib/egress/ip-ranges.ts";

/** The number of proxies before the gateway, or their addresses and ranges. */
export type TrustedProxies = number | IpRanges;

/** A longer chain of trusted proxies must be forged. */
const PROXIES_MAX = 32;
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/**
 * Returns the true address of a request: the other end of the connection, or the address that trusted proxies report.
 * Each proxy adds, on the right, the address that it saw. So the list is believed from the right as far as proxies are
 * trusted; the client's own entries, on the left, never count.
 *
 * @param peer is the other end of the connection; null when the server does not know it.
 * @param forwardedFor is the header X-Forwarded-For.
 * @returns the address, as IPv4 when it is an IPv4-mapped IPv6 address; null when it is not known.
 */
export function clientAddress(
  peer: string | null,
  forwardedFor: string | null,
  trusted: TrustedProxies,
): string | null {
  let address = peer === null ? null : (normalAddress(peer) ?? null);
  let rest = forwardedFor ?? "";
  for (let place = 0; address !== null && rest.trim() !== ""; place += 1) {
    const isProxy = typeof trusted === "number" ? place < trusted : trusted.has(address);
    if (!isProxy) return address;
    if (place === PROXIES_MAX) return null;
    const comma = rest.lastIndexOf(",");
    // A trusted proxy that writes no address hides the client; an unknown address is better than a wrong one.
    address = normalAddress(withoutPort(rest.slice(comma + 1).trim())) ?? null;
    rest = comma === -1 ? "" : rest.slice(0, comma);
  }
  return address;
}

function withoutPort(entry: string): string {
  const match = WITH_PORT.exec(entry);
  return match?.[1] ?? match?.[2] ?? entry;
}
