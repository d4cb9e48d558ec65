import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import type { Address, AllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";

/** Resolves a host name to all its addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** A checked destination. Connections go to these addresses only. */
export interface EgressTarget {
  readonly url: URL;
  /** At least one. IPv4 addresses come first, because many machines have no IPv6 route. */
  readonly addresses: readonly [string, ...string[]];
}

const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

/**
 * Finds and checks the destination of a URL, as `findAddresses` does. Rejects with an `EgressError`.
 */
export async function findTarget(
  url: URL,
  allowed: AllowList,
  resolve: ResolveHost,
): Promise<EgressTarget> {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new EgressError("invalid_url", "it is not an http or https address");
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("credentials", "it holds a user name or a password");
  }
  return { url, addresses: await findAddresses(url.hostname, allowed, resolve) };
}

/**
 * Finds and checks the addresses of a host, named as a URL names it. Every one must be public or allowed: a host with
 * one public and one private address is refused. Rejects with an `EgressError`.
 */
export async function findAddresses(
  hostname: string,
  allowed: AllowList,
  resolve: ResolveHost,
): Promise<EgressTarget["addresses"]> {
  const [first, ...further] = await addressesOf(hostname, resolve);
  if (first === undefined) throw new EgressError("unknown_host", "its host cannot be found");
  const addresses = [first, ...further].sort(byFamily);
  if (!allowed.hasHost(hostname) && !addresses.every((address) => isOpen(address, allowed))) {
    throw new EgressError(
      "forbidden",
      "it points into a private or reserved network, which the gateway does not access unless EGRESS_ALLOW lists it",
    );
  }
  return addresses as [string, ...string[]];
}

/**
 * Returns the addresses of a host. A literal address is not resolved: the URL parser has already normalized all its
 * notations.
 */
async function addressesOf(hostname: string, resolve: ResolveHost): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (ipaddr.isValid(literal)) return [literal];
  try {
    return await resolve(hostname);
  } catch {
    return [];
  }
}

/**
 * Returns true for an address that may be reached. Mapped and translated addresses are refused too, because they can
 * contain a private one.
 */
function isOpen(address: string, allowed: AllowList): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return isPublic(parsed) || allowed.hasAddress(parsed);
}

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  // Addresses outside this range are not routed on the internet, but can embed an IPv4 address in their last bits.
  return address.kind() === "ipv4" || address.match(GLOBAL_IPV6);
}

/** Sorts IPv4 before IPv6: many machines have no IPv6 route. */
function byFamily(one: string, other: string): number {
  return Number(one.includes(":")) - Number(other.includes(":"));
}
