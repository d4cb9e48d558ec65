import { describe, expect, it } from "vitest";
import { loadConfig, SettingsError } from "../../../src/config/load-config.ts";
import { clientAddress } from "../../../src/http/request/client-address.ts";

/** What TRUST_PROXY of this text makes of a request. */
function told(trustProxy: string, peer: string | null, forwardedFor: string | null) {
  return clientAddress(
    peer,
    forwardedFor,
    loadConfig({ TRUST_PROXY: trustProxy }).settings.TRUST_PROXY,
  );
}

describe("the client's address", () => {
  it("is the other end of the connection, IPv4 where IPv6 only wraps it", () => {
    expect(told("0", "192.0.2.1", null)).toBe("192.0.2.1");
    expect(told("0", "::ffff:192.0.2.1", null)).toBe("192.0.2.1");
    expect(told("0", "2001:DB8::1", null)).toBe("2001:db8::1");
    expect(told("0", "fe80::1%eth0", null)).toBe("fe80::1");
    expect(told("0", null, null)).toBeNull();
    expect(told("0", "", null)).toBeNull();
  });

  it("is never what a client writes where no proxy is trusted", () => {
    for (const forged of ["10.0.0.1", "10.0.0.1, 10.0.0.2", "::1", ""]) {
      for (const setting of ["", "0", "false"]) {
        expect(told(setting, "192.0.2.1", forged)).toBe("192.0.2.1");
      }
    }
    expect(told("1", null, "10.0.0.1")).toBeNull();
  });

  it("is what the trusted number of proxies tells, counted from the right", () => {
    const forged = "10.0.0.1, 198.51.100.7, 203.0.113.9";
    expect(told("1", "192.0.2.1", forged)).toBe("203.0.113.9");
    expect(told("true", "192.0.2.1", forged)).toBe("203.0.113.9");
    expect(told("2", "192.0.2.1", forged)).toBe("198.51.100.7");
    expect(told("3", "192.0.2.1", forged)).toBe("10.0.0.1");
    expect(told("9", "192.0.2.1", forged)).toBe("10.0.0.1");
    expect(told("1", "192.0.2.1", null)).toBe("192.0.2.1");
    expect(told("1", "192.0.2.1", "  ")).toBe("192.0.2.1");
  });

  it("is what proxies of trusted addresses tell, up to the first that is none of them", () => {
    const trust = "10.0.0.0/8, 2001:db8::7,::ffff:172.16.0.0/108";
    expect(told(trust, "10.0.0.1", "198.51.100.7")).toBe("198.51.100.7");
    expect(told(trust, "::ffff:10.0.0.1", "198.51.100.7")).toBe("198.51.100.7");
    expect(told(trust, "10.0.0.1", "1.1.1.1, 198.51.100.7, 172.16.0.9, ::ffff:10.0.0.2")).toBe(
      "198.51.100.7",
    );
    expect(told(trust, "2001:DB8:0::7", "198.51.100.7")).toBe("198.51.100.7");
    // Whoever comes past the proxies is taken at the address it comes from.
    expect(told(trust, "192.0.2.1", "10.0.0.1")).toBe("192.0.2.1");
    // All of them are trusted: the client stands among them.
    expect(told(trust, "10.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3");
  });

  it("is read with and without a port", () => {
    expect(told("1", "10.0.0.1", "198.51.100.7:5678")).toBe("198.51.100.7");
    expect(told("1", "10.0.0.1", "[2001:db8::1]:80")).toBe("2001:db8::1");
    expect(told("1", "10.0.0.1", "[2001:db8::1]")).toBe("2001:db8::1");
    expect(told("1", "10.0.0.1", "[::ffff:198.51.100.7]:80")).toBe("198.51.100.7");
    expect(told("1", "10.0.0.1", "2001:db8::1")).toBe("2001:db8::1");
    expect(told("2", "10.0.0.1", "198.51.100.7:1, 10.0.0.2:2")).toBe("198.51.100.7");
  });

  it.each([
    "unknown",
    "_hidden",
    "for=198.51.100.7",
    '"198.51.100.7"',
    "198.51.100.7:port",
    "198.51.100.7:123456",
    "198.51.100.7 198.51.100.8",
    "198.51.100",
    "[198.51.100.7",
    "[]",
    "[::1]x",
    ",",
    "198.51.100.7,",
    "198.51.100.7, ,",
    "198.51.100.7;",
    "%00",
    "<script>",
  ])("is nobody's when a trusted proxy writes %j", (entry) => {
    expect(told("1", "10.0.0.1", entry)).toBeNull();
    expect(told("10.0.0.0/8", "10.0.0.1", entry)).toBeNull();
    expect(told("0", "10.0.0.1", entry)).toBe("10.0.0.1");
  });

  it("is not behind a chain that no one builds", () => {
    const chain = (length: number) => Array.from({ length }, () => "10.0.0.2").join(",");
    expect(told("10.0.0.0/8", "10.0.0.1", `198.51.100.7,${chain(31)}`)).toBe("198.51.100.7");
    expect(told("10.0.0.0/8", "10.0.0.1", `198.51.100.7,${chain(5_000)}`)).toBeNull();
    expect(told("99", "10.0.0.1", `198.51.100.7,${chain(5_000)}`)).toBeNull();
  });
});

describe("TRUST_PROXY", () => {
  it.each([
    "yes",
    "-1",
    "100",
    "1.5",
    "10.0.0.0/33",
    "proxy.example",
    "loopback",
    "10.0.0.1:80",
    "10.0.0.0/8,",
    ",",
    "0,1",
    "*",
  ])("stops the start when it is %j", (text) => {
    expect(() => loadConfig({ TRUST_PROXY: text })).toThrow(SettingsError);
    expect(() => loadConfig({ TRUST_PROXY: text })).toThrow(/TRUST_PROXY: must be a number/);
  });

  it("tells which entry is wrong", () => {
    expect(() => loadConfig({ TRUST_PROXY: "10.0.0.0/8, 10.0.0" })).toThrow(/entry 2 of the list/);
  });
});
