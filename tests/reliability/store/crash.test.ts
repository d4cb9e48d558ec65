import { describe, vi } from "vitest";
import { createCaseTable, noteLaterRoutes } from "../../support/case-table.ts";
import { expectLossless } from "../../support/expect-lossless.ts";
import { runKillCycles } from "../../support/faults/kill-cycles.ts";
import { trialSize } from "../../support/faults/trial-size.ts";

const CYCLES = trialSize(2, 5);
const REQUESTS_PER_SECOND = trialSize(40, 100);
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";
vi.setConfig({ testTimeout: isFull ? 900_000 : 400_000 });

const table = createCaseTable({ D01: `${CYCLES} kills under ${REQUESTS_PER_SECOND} requests/s` });
noteLaterRoutes(table, ["D01"]);

describe("a server that is killed under load", async () => {
  table.shows("D01", "chat", `loses and doubles nothing in ${CYCLES} kills`, async () => {
    const report = await runKillCycles({
      cycles: CYCLES,
      requestsPerSecond: REQUESTS_PER_SECOND,
      livesMs: { least: 300, most: 1_500 },
      engine: "vllm",
    });
    expectLossless(report, CYCLES);
  });
  if (isFull) {
    const { showKillsUnderFullLoad } = await import("./d01-full.ts");
    await showKillsUnderFullLoad(table);
  } else table.leavesOut("D01", "chat, full load", "left out: set RELIABILITY_FULL=1");
});
