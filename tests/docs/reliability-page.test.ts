import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CASES } from "../../scripts/faults/cases.ts";

const page = readFileSync("docs/reliability.md", "utf8");
const everyRun = page.slice(
  page.indexOf("<!-- every run -->"),
  page.indexOf("<!-- end of every run"),
);
const rows = [...page.matchAll(/^\| ([SHKLDWO]\d\d) \| (.*?) \|/gm)];

/** The tests that a full run of the fault suite has cases of. */
const sources = readdirSync("tests/reliability", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => readFileSync(join("tests/reliability", name), "utf8"));

describe("The page about reliability", () => {
  it("gives each case the title that it has in the suite", () => {
    expect(rows.length).toBeGreaterThan(0);
    for (const [, id = "", title] of rows) expect([id, title]).toEqual([id, CASES[id]]);
  });

  it("names no test that is not there", () => {
    const named = [...page.matchAll(/\btests\/[\w./-]+\.ts\b/g)].map(([path]) => path);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it("gives the reason that the tests give for a place that is never shown", () => {
    const reasons = sources.flatMap((source) => [
      ...source.matchAll(
        /^(?:table\.)?leavesOut\("(\w\d\d)", "([^"]+)", "(?:left out: )?([^"]+)"\)/gm,
      ),
    ]);
    expect(reasons.length).toBeGreaterThan(0);
    for (const [, id, place, reason] of reasons) {
      const row = everyRun.split("\n").find((line) => line.startsWith(`| ${id} `));
      expect(row).toContain(`${place}: ${reason}`);
    }
  });
});
