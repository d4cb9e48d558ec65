import { expect } from "vitest";
import type { KillCyclesReport } from "./faults/kill-cycles.ts";

/** Nothing complete is lost, doubled or wrong, and nothing that was cut counts as a success. */
export function expectLossless(report: KillCyclesReport, cycles: number): void {
  // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
  console.info(`D01 ${JSON.stringify(report)}`);
  expect(report).toMatchObject({ lost: [], wrong: [], leftWrong: [], cutLost: [] });
  expect(report.complete).toBeGreaterThan(0);
  expect(report.cut).toBeGreaterThan(0);
  // The end is recorded a moment before its last bytes leave; hardly one request a kill is caught in between.
  expect(report.cutAtTheLastByte).toBeLessThanOrEqual(cycles);
  expect(report.unseenRows).toBeLessThanOrEqual(report.unseenRequests);
}
