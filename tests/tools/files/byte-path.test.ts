import { describe, expect, it } from "vitest";
import { bytePath, readPath, shownPath } from "../../../src/tools/files/byte-path.ts";

const latin = (...bytes: number[]) => String.fromCharCode(...bytes);

describe("A path", () => {
  it.each([
    ["plain", bytePath("reports/März 2027 – 数字.csv"), "reports/März 2027 – 数字.csv"],
    ["a line feed", "a\nb.txt", String.raw`a\x0ab.txt`],
    ["a terminal's escape", "\x1b[2J.txt", String.raw`\x1b[2J.txt`],
    ["bytes that are not UTF-8", `a${latin(0xff, 0xc3)}.txt`, String.raw`a\xff\xc3.txt`],
    ["half a character", `${latin(0xe2, 0x82)}x`, String.raw`\xe2\x82x`],
    ["an overlong form", latin(0xc0, 0xaf), String.raw`\xc0\xaf`],
    ["a reversal of the direction", bytePath("gpj\u202e.exe"), String.raw`gpj\xe2\x80\xae.exe`],
    ["a line separator", bytePath("a\u2028b"), String.raw`a\xe2\x80\xa8b`],
    ["a backslash", String.raw`a\x0a`, String.raw`a\\x0a`],
  ])("with %s is shown on one line, and read back", (_, path, shown) => {
    expect(shownPath(path)).toBe(shown);
    expect(readPath(shown)).toBe(path);
  });

  it("loses empty levels and dots", () => {
    expect(readPath("./a//b/./c/")).toBe("a/b/c");
    expect(readPath(".")).toBe("");
  });

  it.each([
    ["/etc/passwd", /without a slash/],
    ["../a", /never leaves/],
    ["a/../../b", /never leaves/],
    [String.raw`a/\x2e\x2e/b`, /never leaves/],
    [String.raw`reports\march.csv`, /separated by '\/'/],
    ["a\0b", /NUL/],
    [String.raw`a\x00`, /NUL/],
    ["x".repeat(4_097), /4096 bytes/],
  ])("like '%s' is refused", (path, reason) => {
    expect(() => readPath(path)).toThrow(reason);
  });
});
