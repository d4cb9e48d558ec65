import { describe, expect, it } from "vitest";
import { isOriginOf } from "../../../src/lib/http/is-origin-of.ts";

describe("An origin", () => {
  it.each([
    ["https://gateway.example", "gateway.example"],
    // Some proxies name the port always.
    ["https://gateway.example", "gateway.example:443"],
    ["http://gateway.example", "gateway.example:80"],
    ["https://gateway.example:443", "Gateway.Example"],
    ["http://127.0.0.1:8080", "127.0.0.1:8080"],
    ["https://[::1]:8443", "[::1]:8443"],
  ])("%s is that of the host %s", (origin, host) => {
    expect(isOriginOf(origin, host)).toBe(true);
  });

  it.each([
    ["https://other.example", "gateway.example"],
    ["https://gateway.example", "gateway.example:80"],
    ["https://gateway.example:8443", "gateway.example"],
    ["https://user@gateway.example", "gateway.example"],
    ["https://gateway.example/path", "gateway.example"],
    ["null", "gateway.example"],
    ["file://", ""],
    ["https://", ""],
    ["https://gateway.example", null],
  ])("%s is not that of the host %s", (origin, host) => {
    expect(isOriginOf(origin, host)).toBe(false);
  });
});
