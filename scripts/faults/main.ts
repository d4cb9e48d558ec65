// Does to a running gateway all that a bad day may bring, and writes what came of it into docs/reliability.md.
//
// usage: bun run test:faults [--seed N] [--full] [pattern…]
//   --seed N    what is left to chance is drawn from it; 1 unless given
//   --full      instead, the cases that have a full load of their own, at that: three quarters of an hour, on a quiet machine
//   pattern     only test files whose path has it, such as `drain`; the page stays as it is then
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { composeRun, replaceSection } from "./compose-page.ts";
import { isComplete, readReport } from "./report.ts";
import { runTests } from "./run-tests.ts";

const PAGE = "docs/reliability.md";
const TESTS = ["tests/reliability", "tests/db/open-postgres", "tests/operations/metrics"];

const { values, positionals } = parseArgs({
  options: { seed: { type: "string", default: "1" }, full: { type: "boolean", default: false } },
  allowPositionals: true,
});
/** The tests that RELIABILITY_FULL adds: where they are, and what is in their names. */
const FULL_TESTS = ["slow-readers", "many-streams", "crash", "soak"].map(
  (name) => `tests/reliability/${name}.`,
);
const FULL_LOAD = "full load";
const folder = mkdtempSync(join(tmpdir(), "faults-"));
const facts = join(folder, "facts.jsonl");
const results = join(folder, "results.json");
writeFileSync(facts, "");
const began = performance.now();
try {
  const environment = {
    FAULT_REPORT: facts,
    FAULT_SEED: values.seed,
    ...(values.full && { RELIABILITY_FULL: "1" }),
  };
  const all = values.full ? FULL_TESTS : TESTS;
  const patterns = positionals.length > 0 ? positionals : all;
  const name = values.full ? FULL_LOAD : undefined;
  const code = await runTests({ patterns, name, environment, results });
  const cases = readReport(results, facts);
  const { bun, node } = process.versions as { bun?: string; node: string };
  const text = composeRun({
    cases,
    seed: values.seed,
    runtime: bun === undefined ? `node ${node}` : `bun ${bun}`,
    seconds: (performance.now() - began) / 1_000,
  });
  process.stdout.write(`\n${text}\n`);
  if (positionals.length === 0) {
    const section = values.full ? "full loads" : "every run";
    writeFileSync(PAGE, replaceSection(readFileSync(PAGE, "utf8"), section, text));
  }
  const isPart = values.full || positionals.length > 0;
  process.exitCode = code === 0 && (isPart || isComplete(cases)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
