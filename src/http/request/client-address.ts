import { normalAddress } from "../../lib/egress/ip-address.ts";
import type { IpRanges } from "../../lib/egress/ip-ranges.ts";

/** How many proxies stand in front, or their addresses and ranges. */
export type TrustedProxies = number | IpRanges;

/** A longer chain of trusted proxies is somebody's invention. */
const PROXIES_MAX = 32;
const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/**
 * The address that a request truly came from: the other end of the connection, or what trusted proxies tell of it.
 * Each proxy adds, on the right, the address that it saw; so the list is believed from the right as far as proxies are
 * trusted, and what a client wrote into it itself, on the left, never counts.
 *
 * @param peer the other end of the connection; null when the server does not know it.
 * @param forwardedFor the header X-Forwarded-For.
 * @returns the address, IPv4 where IPv6 only wraps it; null when it is not known.
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
    // A trusted proxy that writes no address hides the client: better nobody than somebody else.
    address = normalAddress(withoutPort(rest.slice(comma + 1).trim())) ?? null;
    rest = comma === -1 ? "" : rest.slice(0, comma);
  }
  return address;
}

function withoutPort(entry: string): string {
  const match = WITH_PORT.exec(entry);
  return match?.[1] ?? match?.[2] ?? entry;
}
