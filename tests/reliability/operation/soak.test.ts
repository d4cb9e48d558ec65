import { describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { runSoak } from "../../support/faults/run-soak.ts";
import { trialSize } from "../../support/faults/trial-size.ts";

const LOAD = trialSize(
  { seconds: 10, requestsPerSecond: 15, leavesOfTen: 3, warmAfterSeconds: 5, windowSeconds: 3 },
  { seconds: 40, requestsPerSecond: 30, leavesOfTen: 3, warmAfterSeconds: 20, windowSeconds: 10 },
);
/** A leak of a few kilobytes a call grows faster in half a minute; in some seconds one of a megabyte does. */
const SLOPE_MAX_MB_PER_MINUTE = trialSize(900, 60);
/** What a busy machine may add to the last calls. */
const LATENCY_GRACE_MS = trialSize(30_000, 10_000);
/** Connections to the engine that are kept for the next calls. */
const KEPT_MAX = 64;
// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";

vi.setConfig({ testTimeout: isFull ? 2_400_000 : 400_000 });
const table = createCaseTable({
  O05: `${LOAD.seconds} s at ${LOAD.requestsPerSecond} requests/s, ${LOAD.leavesOfTen} of 10 clients leave`,
});

describe("a server under a steady load", async () => {
  const sentence = "gets neither larger nor slower, and counts every call";
  table.shows("O05", "chat", sentence, async () => {
    const report = await runSoak(LOAD);
    // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
    console.info(`O05 ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ lost: [], wrong: [], leftWrong: [], cut: 0, refused: 0 });
    expect(report.rows).toBe(report.requests);
    expect(report.left).toBeGreaterThan(0);
    expect(report.memorySlopeMbPerMinute).toBeLessThan(SLOPE_MAX_MB_PER_MINUTE);
    expect(report.headP99Ms.last).toBeLessThan(1.2 * report.headP99Ms.first + LATENCY_GRACE_MS);
    expect(report.openAtTheEngine).toBeLessThanOrEqual(KEPT_MAX);
  });

  if (isFull) {
    const { showSoakUnderFullLoad } = await import("./soak-full.ts");
    showSoakUnderFullLoad(table);
  } else table.leavesOut("O05", "chat, full load", "left out: set RELIABILITY_FULL=1");
});
