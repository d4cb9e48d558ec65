import { setTimeout as sleep } from "node:timers/promises";
import { type SentCall, scriptLongStreams, startSteadyLoad } from "../clients/load/steady-load.ts";
import { type AnswersComparison, compareAnswers } from "../compare-answers.ts";
import { percentile } from "../percentile.ts";
import { openMeasuredGateway } from "../processes/measured-gateway.ts";
import { memoryMb } from "../processes/process-use.ts";
import { startSimulator } from "../servers/start-simulator.ts";
import { type WatchFigures, watchServer } from "../servers/watch-server.ts";
import { readUsageRows } from "../stages/usage/stored-usage.ts";

export interface SoakOptions {
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Of ten calls so many are left in the middle. */
  readonly leavesOfTen: number;
  /** The memory's slope is taken from here on; what is before is the runtime getting warm. */
  readonly warmAfterSeconds: number;
  /** Latency is compared between the first and the last of so many seconds. */
  readonly windowSeconds: number;
  readonly healthP99Ms?: number;
}

export interface SoakReport extends AnswersComparison, WatchFigures {
  readonly seconds: number;
  readonly refused: number;
  readonly headP99Ms: Windows;
  /** The same of calls that went to the engine directly: how far the engine, the clients and the machine are at fault. */
  readonly directHeadP99Ms: Windows;
  readonly memorySlopeMbPerMinute: number;
  readonly openAtTheEngine: number;
}

/** In the first and in the last `windowSeconds`. */
interface Windows {
  readonly first: number;
  readonly last: number;
}

/** As many go to the engine directly as tell a hundredth part. */
const DIRECT_PER_SECOND = 10;
/** Connections to the engine that are kept for the next calls. */
const KEPT_CONNECTIONS = 64;

/** Loads a server steadily with clients of which many leave, and watches what it takes. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seconds, warmAfterSeconds, windowSeconds } = options;
  const simulator = await startSimulator({ uniqueUsage: true, tokensPerSecond: 400 });
  scriptLongStreams(simulator);
  const { gateway, store, close } = await openMeasuredGateway({ LLM_BASE_URL: simulator.url });
  const watch = watchServer(gateway, { ...options, keptConnections: KEPT_CONNECTIONS });
  const beganAt = performance.now();
  const load = startSteadyLoad({ port: gateway.port, ...options });
  const direct = startSteadyLoad({
    port: Number(new URL(simulator.url).port),
    requestsPerSecond: DIRECT_PER_SECOND,
    leavesOfTen: 0,
  });
  const memory: Sample[] = [];
  const samplePauseMs = Math.min(5_000, (seconds * 1_000) / 50);
  while (performance.now() - beganAt < seconds * 1_000) {
    await sleep(samplePauseMs);
    const minutes = (performance.now() - beganAt) / 60_000;
    if (minutes * 60 >= warmAfterSeconds)
      memory.push({ minutes, megabytes: memoryMb(gateway.pid) });
  }
  const [sent, sentDirectly] = await Promise.all([load.stop(), direct.stop()]);
  const figures = await watch.finish();
  await gateway.stop();
  const comparison = compareAnswers(sent, await readUsageRows(store));
  const openAtTheEngine = simulator.openSockets();
  await close();
  await simulator.stop();
  const windowsOf = (calls: readonly SentCall[]): Windows => {
    const p99Between = (from: number, to: number) =>
      p99(
        calls.filter(
          ({ sentAt }) => sentAt >= beganAt + from * 1_000 && sentAt < beganAt + to * 1_000,
        ),
      );
    return {
      first: p99Between(0, windowSeconds),
      last: p99Between(seconds - windowSeconds, seconds),
    };
  };
  return {
    ...comparison,
    ...figures,
    seconds,
    refused: sent.filter(({ status }) => status !== 200).length,
    headP99Ms: windowsOf(sent),
    directHeadP99Ms: windowsOf(sentDirectly),
    memorySlopeMbPerMinute: slope(memory),
    openAtTheEngine,
  };
}

interface Sample {
  readonly minutes: number;
  readonly megabytes: number;
}

function p99(sent: readonly SentCall[]): number {
  const tookMs = sent.flatMap(({ headMs }) => (headMs === undefined ? [] : [headMs]));
  return Math.round(percentile(tookMs, 0.99) * 10) / 10;
}

/** Of the line that fits the samples best. */
function slope(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((total, value) => total + value, 0) / values.length;
  const x = mean(samples.map(({ minutes }) => minutes));
  const y = mean(samples.map(({ megabytes }) => megabytes));
  const shared = samples.map(({ minutes, megabytes }) => (minutes - x) * (megabytes - y));
  const spread = samples.map(({ minutes }) => (minutes - x) ** 2);
  return Math.round((mean(shared) / mean(spread)) * 100) / 100;
}
