import { expect } from "vitest";
import type { CaseTable } from "../../support/case-table.ts";
import { runSoak } from "../../support/faults/run-soak.ts";

const MINUTES = 30;
const LOAD = {
  seconds: MINUTES * 60,
  requestsPerSecond: 100,
  leavesOfTen: 3,
  warmAfterSeconds: 600,
  windowSeconds: 300,
  // Judged with the other figures, once they are told.
  healthP99Ms: 60_000,
} as const;
const HEALTH_P99_MS = 100;
const SLOPE_MAX_MB_PER_MINUTE = 1;
const LATENCY_MAX_SHARE = 1.2;

/** O05 in full: half an hour. */
export function showSoakUnderFullLoad({ shows, tells }: CaseTable): void {
  const where = `chat, ${MINUTES} minutes at ${LOAD.requestsPerSecond} requests/s, full load`;
  shows("O05", where, "gets neither larger nor slower, and counts every call", async () => {
    const report = await runSoak(LOAD);
    // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
    console.info(`O05 full ${JSON.stringify(report)}`);
    const { headP99Ms, directHeadP99Ms, memoryMb } = report;
    tells(
      "O05",
      `${report.requests} calls, ${report.left} left by their clients, ${report.rows} rows, ${report.lost.length} lost; ` +
        `memory ${memoryMb.before} MB at first, ${memoryMb.peak} MB at most, ${report.memorySlopeMbPerMinute} MB a minute ` +
        `after minute 10; first byte ${headP99Ms.first} ms in the first five minutes and ${headP99Ms.last} ms in the last ` +
        `at p99, ${directHeadP99Ms.first} and ${directHeadP99Ms.last} ms from the engine itself; health ${report.healthP99Ms} ms at p99`,
    );
    expect(report).toMatchObject({ lost: [], wrong: [], leftWrong: [], cut: 0, refused: 0 });
    expect(report.rows).toBe(report.requests);
    expect(report.healthP99Ms).toBeLessThan(HEALTH_P99_MS);
    expect(report.memorySlopeMbPerMinute).toBeLessThan(SLOPE_MAX_MB_PER_MINUTE);
    // By what share the engine's own answers became slower is none of the gateway's doing.
    const drift = Math.max(1, directHeadP99Ms.last / directHeadP99Ms.first);
    expect(headP99Ms.last).toBeLessThanOrEqual(LATENCY_MAX_SHARE * drift * headP99Ms.first);
  });
}
