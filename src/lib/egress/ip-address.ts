import ipaddr from "ipaddr.js";

export type IpAddress = ipaddr.IPv4 | ipaddr.IPv6;

const GROUPS = 8;
/** The usual notation of an IPv4 address, which needs no normalization. */
const NORMAL_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * Parses an IPv4 address of four decimal parts, or an IPv6 address. Other numeric notations, which some parsers accept,
 * are rejected. IPv4 inside IPv6 (`::ffff:10.0.0.1`) becomes IPv4, so that one address compares equal however the
 * server reports it.
 */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (!text.includes(":")) return parseIpv4(text);
  const groups = parseGroups(withHexadecimalTail(withoutZone(text)));
  if (groups === undefined) return undefined;
  const address = new ipaddr.IPv6(groups);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

/** Returns the normal form of an address, for comparison and display; undefined for an invalid address. */
export function normalAddress(text: string): string | undefined {
  if (NORMAL_IPV4.test(text)) return text;
  return parseIpAddress(text)?.toString();
}

/**
 * Returns the network that one client controls: an IPv4 address, or the /64 network of an IPv6 address, as
 * `2001:db8:1:2::/64`. An invalid address is returned unchanged.
 */
export function clientNetwork(text: string): string {
  const address = parseIpAddress(text);
  if (address === undefined || !("parts" in address)) return text;
  const network = [...address.parts.slice(0, GROUPS / 2), 0, 0, 0, 0];
  return `${new ipaddr.IPv6(network).toString()}/64`;
}

function parseIpv4(text: string): ipaddr.IPv4 | undefined {
  return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : undefined;
}

/**
 * Parses the groups of an IPv6 address. The library's own parser takes ten times as long and reads `::10.0.0.1`
 * wrongly.
 */
function parseGroups(text: string): number[] | undefined {
  const [left = "", right, ...more] = text.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const missing = GROUPS - head.length - tail.length;
  if (more.length > 0 || (right === undefined ? missing !== 0 : missing < 1)) return undefined;
  const groups = [...head, ...new Array<string>(missing).fill("0"), ...tail];
  return groups.every((group) => GROUP.test(group))
    ? groups.map((group) => Number.parseInt(group, 16))
    : undefined;
}

/** Removes the zone: the interface of a link-local address matters only on this machine. */
function withoutZone(text: string): string {
  const zone = text.indexOf("%");
  return zone === -1 ? text : text.slice(0, zone);
}

/** Rewrites the last two groups, which may be written as IPv4. */
function withHexadecimalTail(text: string): string {
  if (!text.includes(".")) return text;
  const start = text.lastIndexOf(":") + 1;
  const tail = parseIpv4(text.slice(start));
  if (tail === undefined) return text;
  const [a = 0, b = 0, c = 0, d = 0] = tail.octets;
  return `${text.slice(0, start)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}
