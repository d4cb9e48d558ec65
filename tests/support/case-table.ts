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
}

const LATER_ROUTES = "mcp, webhook";

/** Runs the cases of one file and prints at the end what was shown where. */
export function createCaseTable(): CaseTable {
  const rows: Row[] = [];
  afterAll(() => {
    const lines = [...rows]
      .sort((one, other) => one.id.localeCompare(other.id))
      .map(({ id, where, result }) => `${id.padEnd(5)} ${where.padEnd(52)} ${result}`);
    // biome-ignore lint/suspicious/noConsole: the table is what these tests are for
    console.info(`\n${lines.join("\n")}`);
  });
  return {
    shows(id, where, sentence, test) {
      const run = async () => {
        try {
          await test();
          rows.push({ id, where, result: "passed" });
        } catch (thrown) {
          rows.push({ id, where, result: "FAILED" });
          throw thrown;
        }
      };
      it(`${id} ${where}: ${sentence}`, run);
    },
    leavesOut(id, where, why) {
      rows.push({ id, where, result: why });
    },
  };
}

/** Notes for each case that its other routes are still to come. */
export function noteLaterRoutes({ leavesOut }: CaseTable, ids: readonly string[]): void {
  for (const id of ids) leavesOut(id, LATER_ROUTES, "not yet");
}
