import ipaddr from "ipaddr.js";
import { StartRefusal } from "./start-refusal.ts";

export type Address = ReturnType<typeof ipaddr.parse>;
type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** What of the private network the operator lets addresses point to. */
export interface AllowList {
  /** As a URL gives it: in small letters, an IPv6 address in brackets. */
  readonly hasHost: (hostname: string) => boolean;
  readonly hasAddress: (address: Address) => boolean;
}

/** Reads hosts, addresses and CIDR ranges. Throws a `StartRefusal` naming the entry that is none of them. */
export function parseAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>();
  const ranges: Range[] = [];
  for (const entry of entries) {
    const range = parseRange(entry);
    if (range === undefined) hosts.add(parseHost(entry));
    else ranges.push(range);
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

function parseHost(entry: string): string {
  const isName = /^[^\s/:@?#[\]\\]+$/.test(entry) && URL.canParse(`http://${entry}`);
  if (isName) return withoutDot(new URL(`http://${entry}`).hostname);
  throw new StartRefusal(
    `EGRESS_ALLOW: '${entry}' is neither a host, nor an address, nor a CIDR range such as 10.0.0.0/8.`,
  );
}

function isWithin(address: Address, [base, bits]: Range): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}

function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}
