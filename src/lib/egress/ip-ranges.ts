import type ipaddr from "ipaddr.js";
import { type IpAddress, parseIpAddress } from "./ip-address.ts";

type Range = readonly [base: IpAddress, bits: number];

const BITS = /^(?:0|[1-9]\d{0,2})$/;
/** The position of the IPv4 address inside an IPv6 address, in bits. */
const IPV4_PREFIX_BITS = 96;

/** Returns true for an address, or for a range such as `10.0.0.0/8` or `fd00::/8`. */
export function isIpRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** A parsed list of addresses and ranges. Invalid entries match nothing. */
export class IpRanges {
  /** The entries as they were given. */
  readonly texts: readonly string[];
  readonly #ranges: readonly Range[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.#ranges = texts.flatMap((text) => {
      const range = parseRange(text);
      return range === undefined ? [] : [range];
    });
  }

  /** Returns true when an entry contains the address; false for a missing or invalid address. */
  has(text: string | null): boolean {
    const address = text === null ? undefined : parseIpAddress(text);
    return address !== undefined && this.#ranges.some((range) => isWithin(address, range));
  }

  /** Returns true when an entry contains every address of this range. */
  covers(text: string): boolean {
    const range = parseRange(text);
    if (range === undefined) return false;
    const [base, bits] = range;
    return this.#ranges.some((wider) => wider[1] <= bits && isWithin(base, wider));
  }
}

function isWithin(address: IpAddress, [base, bits]: Range): boolean {
  if (address.kind() !== base.kind()) return false;
  return address.match(base as ipaddr.IPv4 & ipaddr.IPv6, bits);
}

function parseRange(text: string): Range | undefined {
  const slash = text.indexOf("/");
  const word = slash === -1 ? text : text.slice(0, slash);
  const base = word.includes("%") ? undefined : parseIpAddress(word);
  if (base === undefined) return undefined;
  const longest = base.kind() === "ipv4" ? 32 : 128;
  if (slash === -1) return [base, longest];
  const bits = text.slice(slash + 1);
  if (!BITS.test(bits)) return undefined;
  const isWrapped = base.kind() === "ipv4" && word.includes(":");
  const length = Number(bits) - (isWrapped ? IPV4_PREFIX_BITS : 0);
  return length < 0 || length > longest ? undefined : [base, length];
}
