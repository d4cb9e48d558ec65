import type { HighestRate } from "./highest-rate.ts";
import { medianOf, ratioToPassThrough } from "./report.ts";
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
  const { requests, burst, openLoop, paced1000, paced4000, translation } = findings;
  const gapP99 = (name: "direct" | "gateway") =>
    medianOf(paced1000[name], (run) => run.gapMs?.p99) ?? Number.NaN;
  const openP50 = (name: "passThrough" | "gateway") =>
    medianOf(openLoop[name], (run) => run.latencyMs?.p50) ?? Number.NaN;
  const peakMemoryMb = Math.max(...paced4000.gateway.map((run) => run.peakMemoryMb));
  const failed = [...paced1000.gateway, ...paced4000.gateway].reduce(
    (sum, run) => sum + run.failed,
    0,
  );
  const memory = [
    atMost("memory idle, MB", 150, findings.idleMemoryMb),
    atMost("memory at 4,000 streams, MB", 350, peakMemoryMb),
  ];
  return [
    atLeast(
      "requests/s to pass-through",
      0.5,
      ratioToPassThrough(requests, (run) => run.requestsPerS),
    ),
    atLeast(
      "burst tokens/s to pass-through",
      0.5,
      ratioToPassThrough(burst, (run) => run.tokensPerS),
    ),
    atLeast("burst tokens/s, chat to messages, to chat", 0.7, translationRatio(translation)),
    atMost(
      "200 requests/s, p50 over pass-through, ms",
      0.3,
      openP50("gateway") - openP50("passThrough"),
    ),
    atMost("1,000 streams, gap p99 over direct, ms", 15, gapP99("gateway") - gapP99("direct")),
    atMost("paced streams broken", 0, failed),
    ...(database === "postgres" ? memory : []),
    atMost("rows missing or doubled", 0, Math.abs(findings.rows - findings.answered)),
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
