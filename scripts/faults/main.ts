// Injects every fault of the suite into a running gateway and writes the results into docs/reliability.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { composeRun, replaceSection } from "./compose-page.ts";
import { readOptions, USAGE } from "./options.ts";
import { isComplete, readReport } from "./report.ts";
import { runTests } from "./run-tests.ts";

const PAGE = "docs/reliability.md";
const TESTS = [
  ...["tests/reliability", "tests/db/open-postgres", "tests/operations/metrics"],
  // These have no case on the page, but run larger trials here than elsewhere.
  ...["tests/queue/watched-folders/watched-folders", "tests/scripts/backup", "tests/codecs"],
  ...["journal/adopt-journals", "sums/reconcile-usage", "limits/redis-as-memory"],
];

const options = readOptions(process.argv.slice(2));
if (options.kind !== "run") {
  const isAsked = options.kind === "help";
  const text = isAsked ? USAGE : `${options.mistake}\n\n${USAGE}`;
  (isAsked ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(isAsked ? 0 : 2);
}
const { seed, isFull, patterns: asked } = options;
/** The tests that RELIABILITY_FULL adds: their paths, and the text in their names. */
const FULL_TESTS = [
  "clients/slow-readers",
  "clients/many-streams",
  "store/crash",
  "operation/soak",
].map((name) => `tests/reliability/${name}.`);
const FULL_LOAD = "full load";
const folder = mkdtempSync(join(tmpdir(), "faults-"));
const facts = join(folder, "facts.jsonl");
const results = join(folder, "results.json");
writeFileSync(facts, "");
const began = performance.now();
try {
  const environment = {
    FAULT_REPORT: facts,
    FAULT_SEED: seed,
    ...(isFull && { RELIABILITY_FULL: "1" }),
  };
  const all = isFull ? FULL_TESTS : TESTS;
  const patterns = asked.length > 0 ? asked : all;
  const name = isFull ? FULL_LOAD : undefined;
  const code = await runTests({ patterns, name, environment, results });
  const cases = readReport(results, facts);
  const { bun, node } = process.versions as { bun?: string; node: string };
  const text = composeRun({
    cases,
    seed,
    runtime: bun === undefined ? `node ${node}` : `bun ${bun}`,
    seconds: (performance.now() - began) / 1_000,
  });
  process.stdout.write(`\n${text}\n`);
  if (asked.length === 0) {
    const section = isFull ? "full loads" : "every run";
    writeFileSync(PAGE, replaceSection(readFileSync(PAGE, "utf8"), section, text));
  }
  const isPart = isFull || asked.length > 0;
  process.exitCode = code === 0 && (isPart || isComplete(cases)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
