import { describe, expect, test } from "vitest";
import { pathGlob } from "../../src/queue/path-glob.ts";

describe("a path filter without a wildcard", () => {
  test.each([
    ["reports/", "reports/a.csv", true],
    ["reports/", "reports/2027/a.csv", true],
    ["reports/", "reports.csv", false],
    ["reports/", "old/reports/a.csv", false],
    ["reports/2027", "reports/2027-01.csv", true],
    ["reports/2027", "reports/2026.csv", false],
    ["Reports/", "reports/a.csv", false],
    ["", "anything/at all", true],
    ["/reports/", "reports/a.csv", true],
    ["./reports/", "reports/a.csv", true],
    ["\\reports\\", "reports/a.csv", true],
    ["reports\\2027", "reports/2027/a.csv", true],
    ["reports//2027", "reports/2027/a.csv", true],
    ["reports/", "/reports/a.csv", true],
    ["a[b", "a[b.csv", true],
    ["what\\?", "what?.txt", true],
    ["what\\?", "whatever.txt", false],
    ["a\\\\b", "a\\b", true],
  ])("%j is a prefix: of %j %j", (filter, path, expected) => {
    expect(pathGlob(filter)(path)).toBe(expected);
  });
});

describe("a path filter with wildcards", () => {
  test.each([
    // One level.
    ["*.csv", "a.csv", true],
    ["*.csv", "reports/a.csv", false],
    ["reports/*", "reports/a.csv", true],
    ["reports/*", "reports/2027/a.csv", false],
    ["reports/*/a.csv", "reports/2027/a.csv", true],
    ["reports/*/a.csv", "reports/a.csv", false],
    ["*.csv", "a.csv.bak", false],
    ["a*b*c", "a1b2b3c", true],
    ["a*b*c", "a1c2b", false],
    // All levels below.
    ["reports/**", "reports/a.csv", true],
    ["reports/**", "reports/2027/01/a.csv", true],
    ["reports/**", "reports", false],
    ["reports/**", "reports2/a.csv", false],
    ["**/a.csv", "a.csv", true],
    ["**/a.csv", "1/2/3/a.csv", true],
    ["**/a.csv", "1/b-a.csv", false],
    ["reports/**/a.csv", "reports/a.csv", true],
    ["reports/**/a.csv", "reports/1/2/a.csv", true],
    ["**/1/**/2/**", "0/1/1/0/2/2", true],
    ["**/1/**/2/**", "0/2/1/0", false],
    ["**", "1/2/3", true],
    ["a**/b", "a1/2/b", false],
    ["*/", "reports/a.csv", true],
    ["*/", "reports/2027/a.csv", true],
    ["*/", "a.csv", false],
    // Sets.
    ["[!x]*.csv", "a.csv", true],
    ["[!x]*.csv", "x.csv", false],
    ["[!x]*.csv", "ax.csv", true],
    ["[^x].csv", "x.csv", false],
    ["[!a-f0-9].csv", "g.csv", true],
    ["[!a-f0-9].csv", "7.csv", false],
    ["[abc]/*", "b/1", true],
    ["a[!x]b", "a/b", false],
    ["[]a].txt", "].txt", true],
    ["[!]a].txt", "].txt", false],
    ["[a-].txt", "-.txt", true],
    ["[\\]].txt", "].txt", true],
    ["[a/b]*", "[a/b]1", true],
    ["[z-a]*", "m", false],
    // One character, and characters that mean nothing here.
    ["?.txt", "a.txt", true],
    ["?.txt", "😀.txt", true],
    ["[!a].txt", "😀.txt", true],
    ["?.txt", ".txt", false],
    ["a?b", "a/b", false],
    ["*", ".hidden", true],
    ["!a*", "!ab", true],
    ["!a*", "b", false],
    ["{a,b}*", "{a,b}.txt", true],
    ["{a,b}*", "a.txt", false],
    ["+(a)*", "+(a).txt", true],
    ["#*", "#1", true],
    ["\\*.txt*", "*.txt.bak", true],
    ["\\*.txt*", "a.txt.bak", false],
    // Where they begin.
    ["/reports/*.csv", "reports/a.csv", true],
    ["\\reports\\2027/[!x].csv", "reports/2027/a.csv", true],
    ["./*.csv", "a.csv", true],
    ["*.CSV", "a.csv", false],
  ])("%j and %j: %j", (filter, path, expected) => {
    expect(pathGlob(filter)(path)).toBe(expected);
  });

  test("knows a letter in both its forms", () => {
    const forms = ["Ölkännchen/é.txt".normalize("NFC"), "Ölkännchen/é.txt".normalize("NFD")];
    for (const filter of forms) {
      for (const path of forms) {
        expect(pathGlob(filter)(path)).toBe(true);
        expect(pathGlob(filter.replace("é", "?").replace("é".normalize("NFD"), "?"))(path)).toBe(
          true,
        );
        expect(pathGlob(filter.replace(".txt", ".*"))(path)).toBe(true);
      }
    }
  });

  test("cannot be made to take long", () => {
    const began = performance.now();
    const name = "a".repeat(255);
    expect(pathGlob(`${"*a".repeat(200)}b*`)(`${name}`)).toBe(false);
    expect(pathGlob(`${"**/a/".repeat(150)}b*`)("a/".repeat(2_000))).toBe(false);
    expect(pathGlob(`${"**/*a*a*a*/".repeat(80)}b`)(`${name}/`.repeat(15))).toBe(false);
    expect(pathGlob(`${"[!b]".repeat(200)}*b`)(name)).toBe(false);
    expect(pathGlob("[".repeat(1_000))("[".repeat(999))).toBe(false);
    expect(pathGlob(`${"[a".repeat(499)}*`)("[a".repeat(499))).toBe(true);
    // Each would take longer than the world is old where steps multiply.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("is refused when it is longer than a thousand characters", () => {
    expect(() => pathGlob("a".repeat(1_001))).toThrow(RangeError);
    expect(pathGlob("a".repeat(1_000))("a".repeat(1_000))).toBe(true);
  });
});
