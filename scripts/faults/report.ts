import { readFileSync } from "node:fs";
import { z } from "zod";
import { CASES, REQUIRED_CASES } from "./cases.ts";

/** The facts that a test file reports in addition to its results (tests/support/case-table.ts). */
const facts = z.object({
  loads: z.record(z.string(), z.string()),
  leftOut: z.array(z.object({ id: z.string(), where: z.string(), result: z.string() })),
  told: z.array(z.object({ id: z.string(), text: z.string() })),
});
/** The part of Vitest's JSON report that is read here. */
const results = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

/** A test belongs to the case in its name. */
const CASE_ID = /\b[SHKLDWO]\d\d\b/;

/** The results of one case. */
export interface CaseReport {
  readonly id: string;
  /** The injected fault. */
  readonly title: string;
  readonly loads: readonly string[];
  readonly passed: number;
  readonly failed: readonly string[];
  /** The measured figures. */
  readonly figures: readonly string[];
  /** Each place or variant that was skipped, with its reason. */
  readonly leftOut: readonly string[];
}

/** Reads the results of a run by case, in the order of the suite. */
export function readReport(resultsPath: string, factsPath: string): readonly CaseReport[] {
  const { testResults } = results.parse(JSON.parse(readFileSync(resultsPath, "utf8")));
  const tests = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({
      id: CASE_ID.exec(fullName)?.[0],
      name: fullName,
      status,
    })),
  );
  const told = readFileSync(factsPath, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => facts.parse(JSON.parse(line)));
  return Object.entries(CASES).map(([id, title]) => {
    const ofCase = (status: string) =>
      tests.filter((test) => test.id === id && test.status === status);
    const leftOut = told.flatMap((file) => file.leftOut).filter((place) => place.id === id);
    return {
      id,
      title,
      loads: [...new Set(told.flatMap(({ loads }) => loads[id] ?? []))],
      passed: ofCase("passed").length,
      failed: ofCase("failed").map(({ name }) => name),
      figures: told.flatMap((file) => file.told).flatMap((one) => (one.id === id ? one.text : [])),
      leftOut: [
        ...new Set(
          leftOut.map(({ where, result }) => `${where}: ${result.replace(/^left out: /, "")}`),
        ),
      ],
    };
  });
}

/** Returns true when nothing failed and every required case ran. */
export function isComplete(cases: readonly CaseReport[]): boolean {
  return cases.every(
    ({ id, passed, failed }) => failed.length === 0 && (passed > 0 || !REQUIRED_CASES.test(id)),
  );
}
