import { describe, expect, it } from "vitest";
import { isForwardedHttps } from "../../../src/http/request/is-forwarded-https.ts";
import { IpRanges } from "../../../src/lib/egress/ip-ranges.ts";

const PROXY = "10.0.0.1";
const PROXIES = new IpRanges(["10.0.0.0/8"]);

describe("TLS in front of a proxy", () => {
  it.each([
    ["told by one of so many proxies", PROXY, "https", 1, true],
    ["told by a listed proxy", PROXY, "https", PROXIES, true],
    ["told in capitals", PROXY, "HTTPS", 1, true],
    ["told by two, the outer first", PROXY, "https, http", 2, true],
    ["denied", PROXY, "http", 1, false],
    ["not told", PROXY, null, 1, false],
    ["told by nobody who is trusted", PROXY, "https", 0, false],
    ["told by somebody who is not listed", "192.0.2.1", "https", PROXIES, false],
    ["told by nobody who is known", null, "https", PROXIES, false],
  ] as const)("%s", (...[, peer, header, trusted, expected]) => {
    expect(isForwardedHttps(peer, header, trusted)).toBe(expected);
  });
});
