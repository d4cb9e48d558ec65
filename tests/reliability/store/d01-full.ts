import { expect } from "vitest";
import type { CaseTable } from "../../support/case-table.ts";
import { expectLossless } from "../../support/expect-lossless.ts";
import { type KillCyclesReport, runKillCycles } from "../../support/faults/kill-cycles.ts";
import { openSeverableDatabase } from "../../support/servers/databases/severable-database.ts";

const CYCLES = 20;
const BOOT_MS = 10_000;
const FULL_LOAD = {
  cycles: CYCLES,
  requestsPerSecond: 200,
  livesMs: { least: 500, most: 5_000 },
} as const;

/** The kills in their full number and under their full load: minutes, so only where asked for. */
export async function showKillsUnderFullLoad({
  shows,
  leavesOut,
  tells,
}: CaseTable): Promise<void> {
  const sentence = `loses and doubles nothing in ${CYCLES} kills`;
  shows("D01", "chat, vllm, embedded database, full load", sentence, async () => {
    const report = await runKillCycles({ ...FULL_LOAD, engine: "vllm" });
    tells("D01", `embedded database: ${figuresOf(report)}`);
    expectLossless(report, CYCLES);
    expect(report.slowestBootMs).toBeLessThanOrEqual(BOOT_MS);
  });

  const database = await openSeverableDatabase();
  if (database === undefined) {
    leavesOut("D01", "chat, ollama, PostgreSQL, full load", "left out: no PostgreSQL here");
    return;
  }
  const { directUrl: databaseUrl, remove } = database;
  shows("D01", "chat, ollama, PostgreSQL, full load", sentence, async () => {
    const report = await runKillCycles({ ...FULL_LOAD, engine: "ollama", databaseUrl });
    await remove();
    tells("D01", `PostgreSQL: ${figuresOf(report)}`);
    expectLossless(report, CYCLES);
    expect(report.slowestBootMs).toBeLessThanOrEqual(BOOT_MS);
  });
}

function figuresOf({ complete, lost, wrong, cut, cutLost, slowestBootMs }: KillCyclesReport) {
  return (
    `${CYCLES} kills under ${FULL_LOAD.requestsPerSecond} requests/s, ${complete} complete answers of which ${lost.length} lost ` +
    `and ${wrong.length} wrong, ${cut} cut of which ${cutLost.length} lost, slowest start ${Math.round(slowestBootMs)} ms`
  );
}
