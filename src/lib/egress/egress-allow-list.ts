import ipaddr from "ipaddr.js";
import { StartRefusal } from "../folders/start-refusal.ts";

export type Address = ReturnType<typeof ipaddr.parse>;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** The private hosts and addresses that the operator allows requests to reach. */
export interface AllowList {
  /** Takes a host name as a URL has it: in lower case, an IPv6 address in brackets. */
  readonly hasHost: (hostname: string) => boolean;
  readonly hasAddress: (address: Address) => boolean;
}

/** Returns true for a host, an address or a CIDR range. */
export function isAllowEntry(entry: string): boolean {
  return parseRange(entry) !== undefined || parseHost(entry) !== undefined;
}

/** Reads hosts, addresses and CIDR ranges. Throws a `StartRefusal` naming the first invalid entry. */
export function parseAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>();
  const ranges: Range[] = [];
  for (const entry of entries) {
    const range = parseRange(entry);
    const host = parseHost(entry);
    if (range !== undefined) ranges.push(range);
    else if (host !== undefined) hosts.add(host);
    else throw noEntry(entry);
  }
  return {
    hasHost: (hostname) => hosts.has(withoutDot(hostname)),
    hasAddress: (address) => ranges.some((range) => isWithin(address, range)),
  };
}

function parseRange(entry: string): Range | undefined {
  const bare = entry.replace(/^\[(.*)\]$/, "$1");
  if (ipaddr.isValidCIDR(bare)) return ipaddr.parseCIDR(bare);
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return undefined;
  const address = ipaddr.process(bare);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function parseHost(entry: string): string | undefined {
  const isName = /^[^\s/:@?#[\]\\]+$/.test(entry) && URL.canParse(`http://${entry}`);
  return isName ? withoutDot(new URL(`http://${entry}`).hostname) : undefined;
}

function noEntry(entry: string): StartRefusal {
  return new StartRefusal(
    `EGRESS_ALLOW: '${entry}' is neither a host, nor an address, nor a CIDR range such as 10.0.0.0/8.`,
  );
}

function isWithin(address: Address, [base, bits]: Range): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}

function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}
