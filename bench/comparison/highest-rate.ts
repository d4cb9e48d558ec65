import { type Run, runOnce, streams } from "./scenarios.ts";
import type { TargetName, Targets } from "./targets.ts";

const TOKENS = 80;
const INTERVAL_MS = 50;
const STEP_STREAMS = 500;
const MAX_STREAMS = 12_000;
const STEP_TRIES = 2;
/** A rate is sustained while the p99 of gaps is below twice the interval and no stream fails. */
export const GAP_P99_MAX_MS = 2 * INTERVAL_MS;

export interface HighestRate {
  readonly streams: number;
  /** Tokens per second over all streams. */
  readonly tokensPerS: number;
  readonly runs: readonly (Run & { readonly streams: number })[];
}

type StepRun = Run & { readonly streams: number };

/** Raises the number of streams at 20 tokens/s until gaps exceed their bound; returns the last sustained number. */
export async function findHighestRate(targets: Targets, name: TargetName): Promise<HighestRate> {
  const runs: StepRun[] = [];
  let held = 0;
  // Steps grow with the count, so that a fast target takes about as long as a slow one.
  for (let count = 1_000; count <= MAX_STREAMS; count += Math.max(STEP_STREAMS, count / 4)) {
    const tried = await tryStep(Math.round(count), targets, name);
    runs.push(...tried);
    if (!tried.some(isHeld)) break;
    held = Math.round(count);
  }
  return { streams: held, tokensPerS: (held * 1_000) / INTERVAL_MS, runs };
}

/** Makes one run, and a second one if it failed, because the machine may have been busy. */
async function tryStep(
  count: number,
  targets: Targets,
  name: TargetName,
): Promise<readonly StepRun[]> {
  const load = { streams: count, seconds: 1, tokens: TOKENS, intervalMs: INTERVAL_MS };
  const runs: StepRun[] = [];
  while (runs.length < STEP_TRIES && !runs.some(isHeld)) {
    const run = await runOnce({ load: (address) => streams(address, load) }, targets, name);
    runs.push({ ...run, streams: count });
  }
  return runs;
}

function isHeld(run: Run): boolean {
  return run.failed === 0 && (run.gapMs?.p99 ?? 0) <= GAP_P99_MAX_MS;
}
