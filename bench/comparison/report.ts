import type { Percentiles } from "../load/load-tools.ts";
import type { Run, Runs } from "./scenarios.ts";
import { TARGET_NAMES, type TargetName } from "./targets.ts";

type Figure = (run: Run) => number | undefined;

const percentile =
  (of: "latencyMs" | "firstMs" | "gapMs", which: keyof Percentiles): Figure =>
  (run) =>
    run[of]?.[which];

export const processorTime: Figure = (run) => (run.cpuSeconds * 1e6) / Math.max(1, run.answered);

const FIGURES: Readonly<Record<string, Figure>> = {
  "answers/s": (run) => run.requestsPerS,
  "tokens/s": (run) => run.tokensPerS || undefined,
  "latency p50 ms": percentile("latencyMs", "p50"),
  "latency p99 ms": percentile("latencyMs", "p99"),
  "first token p50 ms": percentile("firstMs", "p50"),
  "first token p99 ms": percentile("firstMs", "p99"),
  "gap p50 ms": percentile("gapMs", "p50"),
  "gap p99 ms": percentile("gapMs", "p99"),
  "processor µs/answer": processorTime,
  "memory MB": (run) => run.peakMemoryMb,
  failed: (run) => run.failed,
};

/** Returns the median of a figure over all rounds; undefined if the scenario has no such figure. */
export function medianOf(runs: readonly Run[], figure: Figure): number | undefined {
  return median(runs.map(figure).filter((value) => value !== undefined));
}

/** Returns the median over the rounds of gateway ÷ bare pass-through, each round against its own neighbour. */
export function ratioToPassThrough(runs: Runs, figure: Figure): number | undefined {
  return median(
    runs.gateway.flatMap((run, round) => {
      const own = figure(run);
      const other = runs.passThrough[round] && figure(runs.passThrough[round]);
      return own === undefined || !other ? [] : [own / other];
    }),
  );
}

/** Builds the table of one scenario, with its targets side by side. */
export function scenarioTable(name: string, runs: Runs): string {
  const lines = Object.entries(FIGURES).flatMap(([label, figure]) => {
    const values = TARGET_NAMES.map((target) => medianOf(runs[target], figure));
    if (values.every((value) => value === undefined)) return [];
    return [row([label, ...values.map(write), ratio(ratioToPassThrough(runs, figure))])];
  });
  return [`\n${name}`, row(["", "direct", "pass-through", "gateway", "ratio"]), ...lines].join(
    "\n",
  );
}

/** Returns the medians of every figure, for the results file. */
export function scenarioFigures(runs: Runs): Record<TargetName, Record<string, number>> {
  const figures = (target: TargetName) =>
    Object.fromEntries(
      Object.entries(FIGURES).flatMap(([label, figure]) => {
        const value = medianOf(runs[target], figure);
        return value === undefined ? [] : [[label, value]];
      }),
    );
  return {
    direct: figures("direct"),
    passThrough: figures("passThrough"),
    gateway: figures("gateway"),
  };
}

function row([label = "", ...cells]: readonly string[]): string {
  return `  ${label.padEnd(22)}${cells.map((cell) => cell.padStart(14)).join("")}`;
}

function write(value: number | undefined): string {
  if (value === undefined) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
}

function ratio(value: number | undefined): string {
  return value === undefined ? "" : value.toFixed(2);
}

/** Returns the middle value; undefined for an empty list. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[middle - 1], sorted[middle]];
  if (high === undefined) return undefined;
  return sorted.length % 2 === 0 && low !== undefined ? (low + high) / 2 : high;
}
