import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import type { Address, AllowList } from "./egress-allow-list.ts";
import { EgressError } from "./egress-error.ts";

/** All addresses of a host. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** A place that was checked: a connection goes to these addresses and to no other. */
export interface EgressTarget {
  readonly url: URL;
  /** At least one; those that every network has come first. */
  readonly addresses: readonly [string, ...string[]];
}

const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

/**
 * Finds where a URL points to. Every address of its host must be public or allowed: a host with one public and one
 * private address is refused. Rejects with an `EgressError`.
 */
export async function findTarget(
  url: URL,
  allowed: AllowList,
  resolve: ResolveHost,
): Promise<EgressTarget> {
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new EgressError("invalid_url", "it is no http or https address");
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("credentials", "it holds a user name or a password");
  }
  const [first, ...further] = await addressesOf(url.hostname, resolve);
  if (first === undefined) throw new EgressError("unknown_host", "its host cannot be found");
  const addresses = [first, ...further].sort(byFamily);
  if (!allowed.hasHost(url.hostname) && !addresses.every((address) => isOpen(address, allowed))) {
    throw new EgressError(
      "forbidden",
      "it points into a private or reserved network, where the gateway fetches nothing unless EGRESS_ALLOW says so",
    );
  }
  return { url, addresses: addresses as [string, ...string[]] };
}

/** A host that is an address needs no resolving: the URL has already brought every way of writing one into one form. */
async function addressesOf(hostname: string, resolve: ResolveHost): Promise<readonly string[]> {
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  if (ipaddr.isValid(literal)) return [literal];
  try {
    return await resolve(hostname);
  } catch {
    return [];
  }
}

/** Anything but a plain public address is closed, also what carries a private one inside: mapped and translated ones. */
function isOpen(address: string, allowed: AllowList): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return isPublic(parsed) || allowed.hasAddress(parsed);
}

function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  // What lies outside has no route on the internet, but may hold an address of IPv4 in its last bits.
  return address.kind() === "ipv4" || address.match(GLOBAL_IPV6);
}

/** Many machines have no way to the addresses of IPv6. */
function byFamily(one: string, other: string): number {
  return Number(one.includes(":")) - Number(other.includes(":"));
}
