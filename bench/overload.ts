// Measures the gateway's answers under five times its peak load, and its health check's latency meanwhile.
// usage: bun bench/overload.ts [--embedded] [--seconds 6] [--check]
import { parseArgs } from "node:util";
import { startTargets, type Target } from "./comparison/targets.ts";
import { buildTools, loadRequests, type RequestLoad } from "./load/load-tools.ts";
import { watchHealth } from "./load/watch-health.ts";

const RESULTS = "bench/results";
const PEAK_CONNECTIONS = [16, 32, 64, 128];
const TIMES = 5;
const OVERLOAD_CONNECTIONS = 1_000;
const GOODPUT_SHARE_MIN = 0.8;
const HEALTH_P99_MAX_MS = 100;
/** The time in which the gateway detects the overload; the measurement starts after it. */
const SETTLE_SECONDS = 4;

const { values: options } = parseArgs({
  options: {
    embedded: { type: "boolean", default: false },
    seconds: { type: "string", default: "6" },
    check: { type: "boolean", default: false },
  },
});
const seconds = Number(options.seconds);
const targets = await startTargets(buildTools(), {
  embedded: options.embedded,
  logFolder: RESULTS,
});

interface Row {
  readonly name: string;
  readonly load: RequestLoad;
  readonly healthP99Ms: number;
  readonly cpuSeconds: number;
}

try {
  const { gateway } = targets.of;
  await loadRequests(gateway, { connections: 32, seconds: 2, ratePerS: 0 });
  const rows: Row[] = [];
  for (const connections of PEAK_CONNECTIONS) {
    const load = { connections, seconds, ratePerS: 0 };
    rows.push(await measure(gateway, `${connections} connections`, load));
  }
  const peak = Math.max(...rows.map(({ load }) => load.requestsPerS));
  const overloads = [
    { connections: OVERLOAD_CONNECTIONS, ratePerS: 0, name: "sent again at once" },
    {
      connections: OVERLOAD_CONNECTIONS,
      ratePerS: Math.round(TIMES * peak),
      name: "at fixed times",
    },
  ];
  let isHeld = true;
  for (const { name, ...load } of overloads) {
    await loadRequests(gateway, { ...load, seconds: SETTLE_SECONDS });
    const row = await measure(gateway, `${load.connections}, ${name}`, { ...load, seconds });
    rows.push(row);
    const isEnough = row.load.requestsPerS >= GOODPUT_SHARE_MIN * peak;
    isHeld = isHeld && isEnough && row.healthP99Ms <= HEALTH_P99_MAX_MS;
  }
  print(rows, peak);
  if (options.check && !isHeld) process.exitCode = 1;
} finally {
  await targets.stop();
}

async function measure(
  target: Target,
  name: string,
  load: Parameters<typeof loadRequests>[1],
): Promise<Row> {
  const health = watchHealth(target.port);
  const { result, use } = await target.process.watch(() => loadRequests(target, load));
  const { p99Ms } = await health.stop();
  return { name, load: result, healthP99Ms: p99Ms, cpuSeconds: use.cpuSeconds };
}

function print(rows: readonly Row[], peak: number): void {
  const heads = ["answered/s", "of peak", "p99 ms", "refused/s", "health p99", "µs/answer"];
  console.log(["".padEnd(26), ...heads.map((head) => head.padStart(12))].join(""));
  for (const { name, load, healthP99Ms, cpuSeconds } of rows) {
    const figures = [
      load.requestsPerS.toFixed(0),
      `${Math.round((100 * load.requestsPerS) / peak)}%`,
      load.latencyMs.p99.toFixed(0),
      (load.refused / seconds).toFixed(0),
      healthP99Ms.toFixed(0),
      ((1e6 * cpuSeconds) / load.answered).toFixed(0),
    ];
    console.log([name.padEnd(26), ...figures.map((figure) => figure.padStart(12))].join(""));
  }
}
