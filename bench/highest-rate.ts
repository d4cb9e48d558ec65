import { type Run, runOnce, streams } from "./scenarios.ts";
import type { TargetName, Targets } from "./targets.ts";

const TOKENS = 80;
const INTERVAL_MS = 50;
const STEP_STREAMS = 500;
const MAX_STREAMS = 12_000;
/** A rate is held while the slowest hundredth of gaps stays below twice the pace and no stream fails. */
export const GAP_P99_MAX_MS = 2 * INTERVAL_MS;

export interface HighestRate {
  readonly streams: number;
  /** Tokens a second over all streams. */
  readonly tokensPerS: number;
  readonly runs: readonly (Run & { readonly streams: number })[];
}

/** Raises the number of streams at 20 tokens/s until gaps break their bound; returns the last that held. */
export async function findHighestRate(targets: Targets, name: TargetName): Promise<HighestRate> {
  const runs: (Run & { readonly streams: number })[] = [];
  let held: HighestRate = { streams: 0, tokensPerS: 0, runs };
  // Steps grow with the height, so that a fast target is found about as soon as a slow one.
  for (let count = 1_000; count <= MAX_STREAMS; count += Math.max(STEP_STREAMS, count / 4)) {
    const load = {
      streams: Math.round(count),
      seconds: 1,
      tokens: TOKENS,
      intervalMs: INTERVAL_MS,
    };
    const run = await runOnce({ load: (address) => streams(address, load) }, targets, name);
    runs.push({ ...run, streams: load.streams });
    const isHeld = run.failed === 0 && (run.gapMs?.p99 ?? 0) <= GAP_P99_MAX_MS;
    if (!isHeld) break;
    held = { streams: load.streams, tokensPerS: (load.streams * 1_000) / INTERVAL_MS, runs };
  }
  return held;
}
