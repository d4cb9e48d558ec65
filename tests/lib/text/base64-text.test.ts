import { describe, expect, it } from "vitest";
import { decodeBase64Text, encodeBase64Text } from "../../../src/lib/text/base64-text.ts";

describe("a text in base64", () => {
  it.each([
    "",
    "a",
    "ab",
    "abc",
    "Grüße, 世界 👋🏽",
    "\u0000\u00ff\n",
    "??>>~~",
    "x".repeat(200_000),
  ])("comes back as it was: %#", (text) => {
    const encoded = encodeBase64Text(text);
    expect(encoded).toMatch(/^[\w-]*$/);
    expect(encoded).toBe(Buffer.from(text).toString("base64url"));
    expect(decodeBase64Text(encoded)).toBe(text);
    expect(decodeBase64Text(Buffer.from(text).toString("base64"))).toBe(text);
  });

  it.each([
    ["what is not base64", "%%%"],
    ["base64 of a wrong length", "QUFBQ"],
    ["bytes that are not UTF-8", "/w=="],
    ["half a character", "8J+Y"],
  ])("is not found in %s", (_, encoded) => {
    expect(decodeBase64Text(encoded)).toBeUndefined();
  });

  it("is found in the largest body in no time", () => {
    const encoded = Buffer.alloc(24_000_000, "a").toString("base64");
    const startedAt = performance.now();
    expect(decodeBase64Text(encoded)?.length).toBe(24_000_000);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
