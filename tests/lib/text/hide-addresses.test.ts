import { expect, it } from "vitest";
import { hideAddresses } from "../../../src/lib/text/hide-addresses.ts";

it.each([
  [
    'no entry for host "fd12:3456:789a::5", user "app"',
    'no entry for host "[address]", user "app"',
  ],
  ["Host '2001:db8::7' is not allowed", "Host '[address]' is not allowed"],
  ["dial ::1: refused", "dial [address]: refused"],
  ["from ::ffff:10.0.0.1.", "from [address]."],
  ["at [fd12::5]:5432 and 10.0.0.1:80", "at [address] and [address]"],
  ["see https://engine.example:8000/x", "see [address]"],
])("addresses are hidden: %s", (text, shown) => {
  expect(hideAddresses(text, 500)).toBe(shown);
});

it.each(["at 12:30:45", "sha256:deadbeef", "std::vector", "'2026-01-01'::date", "a 16:9 picture"])(
  "what is no address stays: %s",
  (text) => {
    expect(hideAddresses(text, 500)).toBe(text);
  },
);
