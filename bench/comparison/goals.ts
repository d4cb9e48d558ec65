import type { HighestRate } from "./highest-rate.ts";
import { medianOf, processorTime, ratioToPassThrough } from "./report.ts";
import type { Runs } from "./scenarios.ts";
import { type Translation, translationRatio } from "./translation.ts";

/** The results of one benchmark, with the scenarios in the order of `scenarios()`. */
export interface Findings {
  readonly requests: Runs;
  readonly burst: Runs;
  readonly openLoop: Runs;
  readonly paced1000: Runs;
  readonly paced4000: Runs;
  readonly translation: Translation;
  readonly idleMemoryMb: number;
  readonly rows: number;
  readonly answered: number;
  readonly highest: Readonly<Record<"passThrough" | "gateway", HighestRate>> | undefined;
}

export interface Goal {
  readonly name: string;
  readonly wanted: string;
  readonly found: number;
  readonly reached: boolean;
}

/** Returns the gateway's goals with its results. Memory counts only with a real PostgreSQL. */
export function goals(findings: Findings, database: "postgres" | "embedded"): readonly Goal[] {
  const { requests, burst, paced1000, paced4000, translation, highest } = findings;
  const failed = [...paced1000.gateway, ...paced4000.gateway].reduce(
    (sum, run) => sum + run.failed,
    0,
  );
  return [
    atLeast(
      "requests/s to pass-through",
      0.5,
      ratioToPassThrough(requests, (run) => run.requestsPerS),
    ),
    atMost("processor time of a request to pass-through", 2, processorRatio(requests)),
    atLeast(
      "burst tokens/s to pass-through",
      0.65,
      ratioToPassThrough(burst, (run) => run.tokensPerS),
    ),
    atLeast("burst tokens/s, chat to messages, to chat", 0.7, translationRatio(translation)),
    atMost("processor time of a paced token to pass-through", 1.5, processorRatio(paced1000)),
    ...(highest === undefined
      ? []
      : [
          atLeast(
            "highest rate to pass-through",
            0.7,
            highest.gateway.streams / highest.passThrough.streams,
          ),
        ]),
    ...latencyGoals(findings),
    atMost("paced streams broken", 0, failed),
    ...(database === "postgres" ? memoryGoals(findings) : []),
    atMost("rows missing or doubled", 0, Math.abs(findings.rows - findings.answered)),
  ];
}

function processorRatio(runs: Runs): number {
  return ratioToPassThrough(runs, processorTime) ?? Number.NaN;
}

function latencyGoals({ openLoop, paced1000, paced4000 }: Findings): readonly Goal[] {
  const gapP99 = (name: "direct" | "gateway") =>
    medianOf(paced1000[name], (run) => run.gapMs?.p99) ?? Number.NaN;
  const openP50 = (name: "passThrough" | "gateway") =>
    medianOf(openLoop[name], (run) => run.latencyMs?.p50) ?? Number.NaN;
  const firstP50 = medianOf(paced4000.gateway, (run) => run.firstMs?.p50) ?? Number.NaN;
  return [
    atMost(
      "200 requests/s, p50 over pass-through, ms",
      0.15,
      openP50("gateway") - openP50("passThrough"),
    ),
    atMost("1,000 streams, gap p99 over direct, ms", 10, gapP99("gateway") - gapP99("direct")),
    atMost("4,000 streams, first token p50, ms", 300, firstP50),
  ];
}

function memoryGoals({ idleMemoryMb, paced4000 }: Findings): readonly Goal[] {
  const peakMemoryMb = Math.max(...paced4000.gateway.map((run) => run.peakMemoryMb));
  return [
    atMost("memory idle, MB", 150, idleMemoryMb),
    atMost("memory at 4,000 streams, MB", 250, peakMemoryMb),
  ];
}

function atLeast(name: string, bound: number, found = Number.NaN): Goal {
  return { name, wanted: `at least ${bound}`, found, reached: found >= bound };
}

export function atMost(name: string, bound: number, found: number): Goal {
  return { name, wanted: `at most ${bound}`, found, reached: found <= bound };
}

export function printGoals(all: readonly Goal[]): void {
  console.log("\ngoals");
  for (const { name, wanted, found, reached } of all) {
    console.log(`  ${reached ? "reached" : "MISSED "} ${name}: ${found.toFixed(2)} (${wanted})`);
  }
}
