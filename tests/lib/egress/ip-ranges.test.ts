import { describe, expect, it } from "vitest";
import { clientNetwork, normalAddress } from "../../../src/lib/egress/ip-address.ts";
import { IpRanges, isIpRange } from "../../../src/lib/egress/ip-ranges.ts";

const holds = (range: string, address: string | null) => new IpRanges([range]).has(address);

describe("an address", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:a00:1", "10.0.0.1"],
    ["0:0:0:0:0:ffff:0a00:0001", "10.0.0.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::1", "::1"],
    ["::10.0.0.1", "::a00:1"],
    ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
    ["fe80::1%eth0.5", "fe80::1"],
  ])("%s is %s", (text, expected) => {
    expect(normalAddress(text)).toBe(expected);
  });

  it.each([
    "",
    " ",
    "unknown",
    "localhost",
    "10.0.0.1 ",
    "10.0.0",
    "10.0.0.256",
    "10.0.0.1.2",
    "010.0.0.1",
    "10.0.0.08",
    "0x0a000001",
    "167772161",
    "0xa.0.0.1",
    "10.0.0.1%eth0",
    "10.0.0.1:80",
    "[::1]",
    "::ffff:010.0.0.1",
    "::ffff:10.0.0.1.2",
    "1::2::3",
    ":::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "::g",
    "::10.0.0.256",
    "10.0.0.1\u0000",
    "１０.0.0.1",
    "٠.0.0.1",
  ])("is not %j", (text) => {
    expect(normalAddress(text)).toBeUndefined();
    expect(isIpRange(text)).toBe(false);
  });
});

describe("what one client has", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::", "2001:db8:1:3::/64"],
    ["::1", "::/64"],
    ["no address", "no address"],
  ])("of %s is %s", (text, expected) => {
    expect(clientNetwork(text)).toBe(expected);
  });
});

describe("a range", () => {
  it.each([
    ["10.0.0.0/8", "10.255.255.255", "11.0.0.0"],
    ["10.1.2.3/8", "10.9.9.9", "9.255.255.255"],
    ["10.0.0.1", "10.0.0.1", "10.0.0.2"],
    ["10.0.0.1/32", "10.0.0.1", "10.0.0.0"],
    ["10.0.0.2/31", "10.0.0.3", "10.0.0.4"],
    ["128.0.0.0/1", "255.255.255.255", "127.255.255.255"],
    ["fd00::/8", "fdff::1", "fe00::"],
    ["2001:db8::/32", "2001:db8:ffff::", "2001:db9::"],
    ["2001:db8::8/125", "2001:db8::f", "2001:db8::10"],
    ["::1", "::1", "::2"],
    // IPv4 inside IPv6 is IPv4, on either side.
    ["10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:11.0.0.1"],
    ["::ffff:10.0.0.0/104", "10.0.0.1", "11.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"],
    ["::ffff:a00:0/104", "::ffff:10.0.0.1", "::a00:1"],
    ["::ffff:0:0/96", "192.0.2.1", "::1"],
    // One family's numbers mean nothing in the other.
    ["0.0.0.0/0", "192.0.2.1", "::1"],
    ["::/0", "2001:db8::1", "192.0.2.1"],
    ["::a00:0/104", "::a00:1", "10.0.0.1"],
  ])("%s holds %s and not %s", (range, inside, outside) => {
    expect(isIpRange(range)).toBe(true);
    expect(holds(range, inside)).toBe(true);
    expect(holds(range, outside)).toBe(false);
  });

  it.each([
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "10.0.0.0/8 ",
    "10.0.0.0/+8",
    "10.0.0.0/8.0",
    "10.0.0.0/255.0.0.0",
    "/8",
    "::/129",
    "::ffff:10.0.0.0/95",
    "::ffff:10.0.0.0/129",
    "fe80::1%eth0/64",
    "10.0.0.*",
    "10.0.0.1-10.0.0.9",
  ])("is not %j, which holds nothing", (text) => {
    expect(isIpRange(text)).toBe(false);
    expect(holds(text, "10.0.0.1")).toBe(false);
    expect(holds(text, "::")).toBe(false);
  });

  it("holds no address that is not known", () => {
    for (const range of ["0.0.0.0/0", "::/0"]) {
      for (const address of [null, "", "unknown", "localhost"]) {
        expect(holds(range, address)).toBe(false);
      }
    }
  });

  it("is one of several", () => {
    const ranges = new IpRanges(["192.0.2.7", "nonsense", "fd00::/8", "10.0.0.0/8"]);
    expect(["192.0.2.7", "fd12::1", "10.1.1.1"].map((text) => ranges.has(text))).toEqual([
      true,
      true,
      true,
    ]);
    expect(ranges.has("192.0.2.8")).toBe(false);
    expect(new IpRanges([]).has("192.0.2.8")).toBe(false);
  });
});
