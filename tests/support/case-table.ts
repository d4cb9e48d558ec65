import { appendFileSync } from "node:fs";
import { afterAll, it } from "vitest";

interface Row {
  readonly id: string;
  readonly where: string;
  readonly result: string;
}

export interface CaseTable {
  /** A test of one case of the reliability plan, at one place. */
  readonly shows: (id: string, where: string, sentence: string, test: () => Promise<void>) => void;
  /** Said of a place that does not exist yet, or of what this machine cannot show; never counted as passed. */
  readonly leavesOut: (id: string, where: string, why: string) => void;
  /** What a case measured, for people: it goes into the fault suite's page. */
  readonly tells: (id: string, figures: string) => void;
}

const LATER_ROUTES = "mcp, webhook";

/**
 * Runs the cases of one file and prints at the end what was shown where. What no test result tells goes to the file
 * that FAULT_REPORT names, for the fault suite.
 *
 * @param loads by the case's id: under what load it is shown here, for people.
 */
export function createCaseTable(loads: Readonly<Record<string, string>> = {}): CaseTable {
  const rows: Row[] = [];
  const told: { id: string; text: string }[] = [];
  afterAll(() => {
    const sorted = [...rows].sort((one, other) => one.id.localeCompare(other.id));
    const lines = sorted.map(
      ({ id, where, result }) => `${id.padEnd(5)} ${where.padEnd(52)} ${result}`,
    );
    // biome-ignore lint/suspicious/noConsole: the table is what these tests are for
    console.info(`\n${lines.join("\n")}`);
    // biome-ignore lint/style/noProcessEnv: the suite's own, not a setting of the program
    const report = process.env["FAULT_REPORT"];
    if (report === undefined) return;
    const isRun = ({ result }: Row) => result === "passed" || result === "FAILED";
    // At full load a case tells its load with its figures.
    // biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
    const isFull = process.env["RELIABILITY_FULL"] === "1";
    const leftOut = sorted.filter((row) => !isRun(row));
    const facts = { loads: isFull ? {} : loads, leftOut, told };
    appendFileSync(report, `${JSON.stringify(facts)}\n`);
  });
  return {
    shows(id, where, sentence, test) {
      const run = async () => {
        const note = (result: string) => {
          // A second try takes the first one's place.
          const before = rows.findIndex((known) => known.id === id && known.where === where);
          if (before >= 0 && rows[before]?.result === "FAILED") rows.splice(before, 1);
          rows.push({ id, where, result });
        };
        try {
          await test();
          note("passed");
        } catch (thrown) {
          note("FAILED");
          throw thrown;
        }
      };
      it(`${id} ${where}: ${sentence}`, run);
    },
    leavesOut(id, where, why) {
      rows.push({ id, where, result: why });
    },
    tells(id, text) {
      told.push({ id, text });
    },
  };
}

/** Notes for each case that its other routes are not in this suite. */
export function noteLaterRoutes({ leavesOut }: CaseTable, ids: readonly string[]): void {
  for (const id of ids) leavesOut(id, LATER_ROUTES, "not in this suite");
}
