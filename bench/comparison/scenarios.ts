import { type Address, loadRequests, loadStreams, type Percentiles } from "../load/load-tools.ts";
import type { ProcessUse } from "../load/measured-process.ts";
import { TARGET_NAMES, type TargetName, type Targets } from "./targets.ts";

const CONNECTIONS = 32;
const STREAM_TOKENS = 128;
const OPEN_LOOP_PER_S = 200;
const PAUSE_MS = 300;

/** One run of one load against one target. */
export interface Run extends ProcessUse {
  /** Whole answers: JSON bodies or streams with every token. */
  readonly answered: number;
  /** Refused, truncated or unfinished: anything but a whole answer. */
  readonly failed: number;
  readonly requestsPerS: number;
  readonly tokensPerS: number;
  readonly latencyMs: Percentiles | undefined;
  readonly firstMs: Percentiles | undefined;
  readonly gapMs: Percentiles | undefined;
}

export interface Scenario {
  readonly name: string;
  readonly rounds: number;
  readonly load: (address: Address) => Promise<Omit<Run, keyof ProcessUse>>;
}

export type Runs = Readonly<Record<TargetName, readonly Run[]>>;

/** Returns the scenarios for all targets; with `quick` all of them take about a minute. */
export function scenarios(quick: boolean): readonly Scenario[] {
  const rounds = quick ? 2 : 4;
  const seconds = quick ? 2 : 6;
  return [
    {
      name: `requests, ${CONNECTIONS} connections`,
      rounds,
      load: (address) => requests(address, { connections: CONNECTIONS, seconds, ratePerS: 0 }),
    },
    {
      name: `burst streams of ${STREAM_TOKENS} tokens, ${CONNECTIONS} at once`,
      rounds,
      load: (address) =>
        streams(address, { streams: CONNECTIONS, seconds, tokens: STREAM_TOKENS, intervalMs: 0 }),
    },
    {
      name: `${OPEN_LOOP_PER_S} requests/s, open loop`,
      rounds,
      load: (address) =>
        requests(address, { connections: CONNECTIONS, seconds, ratePerS: OPEN_LOOP_PER_S }),
    },
    {
      name: "1000 paced streams, 20 tokens/s each",
      rounds: quick ? 1 : 2,
      load: (address) =>
        streams(address, { streams: 1_000, seconds, tokens: quick ? 40 : 128, intervalMs: 50 }),
    },
    {
      name: "4000 paced streams, 5 tokens/s each",
      rounds: quick ? 1 : 2,
      load: (address) =>
        streams(address, { streams: 4_000, seconds: 1, tokens: quick ? 20 : 60, intervalMs: 200 }),
    },
  ];
}

/** Runs a scenario on all targets in turn, round by round, so that drift of the machine affects all alike. */
export async function runScenario(scenario: Scenario, targets: Targets): Promise<Runs> {
  const runs: Record<TargetName, Run[]> = { direct: [], passThrough: [], gateway: [] };
  for (let round = 0; round < scenario.rounds; round += 1) {
    for (const name of TARGET_NAMES) runs[name].push(await runOnce(scenario, targets, name));
  }
  return runs;
}

/** Makes one run of one load and measures the target's process meanwhile. */
export async function runOnce(
  scenario: Pick<Scenario, "load">,
  targets: Targets,
  name: TargetName,
): Promise<Run> {
  const target = targets.of[name];
  const { result, use } = await target.process.watch(() => scenario.load(target));
  // Lets the last connections close and the usage reach the database outside the next run.
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return { ...result, ...use };
}

async function requests(address: Address, load: Parameters<typeof loadRequests>[1]) {
  const { sent, answered, requestsPerS, latencyMs } = await loadRequests(address, load);
  const failed = sent - answered;
  return {
    answered,
    failed,
    requestsPerS,
    tokensPerS: 0,
    latencyMs,
    firstMs: undefined,
    gapMs: undefined,
  };
}

/** Runs a load of streams for a scenario, or for the search of the highest rate. */
export async function streams(address: Address, load: Parameters<typeof loadStreams>[1]) {
  const { started, done, streamsPerS, tokensPerS, firstMs, gapMs } = await loadStreams(
    address,
    load,
  );
  const paced = load.intervalMs > 0;
  return {
    answered: done,
    failed: started - done,
    requestsPerS: streamsPerS,
    tokensPerS,
    latencyMs: undefined,
    firstMs,
    gapMs: paced ? gapMs : undefined,
  };
}
