// Compares the gateway of this working tree with that of another by processor time, in alternating runs beside the bare
// proxy: `bun bench/compare.ts ../other-tree`. `--rounds 4`, `--seconds 3`, `--only burst`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { median } from "./comparison/report.ts";
import { createDatabase, startGateway, startTargets, type Target } from "./comparison/targets.ts";
import { buildTools, loadRequests, loadStreams } from "./load/load-tools.ts";

const LOGS = "bench/results";
const SETTLE_MS = 2_000;
const PAUSE_MS = 400;
const WARM_UP_ROUNDS = 2;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "4" },
    seconds: { type: "string", default: "3" },
    only: { type: "string" },
    embedded: { type: "boolean", default: false },
  },
});
const other = positionals[0];
if (other === undefined) throw new Error("Name the other working tree.");
const seconds = Number(values.seconds);

/** Each returns the number of answers, or of tokens where `unit` says so. */
const LOADS: Readonly<
  Record<string, { readonly unit: string; readonly run: (target: Target) => Promise<number> }>
> = {
  requests: {
    unit: "answer",
    run: async (target) =>
      (await loadRequests(target, { connections: 32, seconds, ratePerS: 0 })).answered,
  },
  burst: { unit: "stream", run: (target) => burst(target, "chat") },
  messages: { unit: "stream", run: (target) => burst(target, "messages") },
  paced: {
    unit: "token",
    run: async (target) => {
      const load = { streams: 300, seconds, tokens: 20 * seconds, intervalMs: 50 };
      const { done } = await loadStreams(target, load);
      return done * load.tokens;
    },
  },
};

async function burst(target: Target, family: "chat" | "messages"): Promise<number> {
  const load = { streams: 32, seconds, tokens: 128, intervalMs: 0, family };
  return (await loadStreams(target, load)).done;
}

const targets = await startTargets(buildTools(), { embedded: values.embedded, logFolder: LOGS });
const folder = mkdtempSync(join(tmpdir(), "gateway-compare-"));
const { databaseUrl } = targets;
const before = await startGateway({
  name: "gateway-other",
  tree: resolve(other),
  upstreamPort: targets.of.direct.port,
  databaseUrl: databaseUrl && (await createDatabase(databaseUrl, "other_tree")),
  dataFolder: folder,
  logFolder: LOGS,
});
const sides: Readonly<Record<string, Target>> = {
  "pass-through": targets.of.passThrough,
  other: before,
  this: targets.of.gateway,
};

try {
  await sleep(SETTLE_MS);
  console.log(
    `processor µs, medians of ${values.rounds} rounds, and the least of them, which other programs disturb least`,
  );
  for (const [name, { unit, run }] of Object.entries(LOADS)) {
    if (values.only !== undefined && values.only !== name) continue;
    const found: Record<string, number[]> = { "pass-through": [], other: [], this: [] };
    for (let round = 0; round < Number(values.rounds) + WARM_UP_ROUNDS; round += 1) {
      for (const [side, target] of Object.entries(sides)) {
        if (name === "messages" && side === "pass-through") continue;
        const { result, use } = await target.process.watch(() => run(target));
        await sleep(PAUSE_MS);
        // The first rounds warm up.
        if (round >= WARM_UP_ROUNDS)
          found[side]?.push((use.cpuSeconds * 1e6) / Math.max(1, result));
      }
    }
    report(name, unit, found);
  }
} finally {
  await before.process.stop();
  await targets.stop();
  rmSync(folder, { recursive: true, force: true });
}

function report(name: string, unit: string, found: Readonly<Record<string, number[]>>): void {
  const of = (side: string) => median(found[side] ?? []) ?? Number.NaN;
  const least = (side: string) => Math.min(...(found[side] ?? []));
  const [bare, was, is] = [of("pass-through"), of("other"), of("this")];
  console.log(
    `  ${name.padEnd(10)} a ${unit.padEnd(7)} pass-through ${bare.toFixed(1)}, other ${was.toFixed(1)}, ` +
      `this ${is.toFixed(1)}; this/other ${(is / was).toFixed(2)}, this/pass-through ${(is / bare).toFixed(2)}; ` +
      `least: ${["pass-through", "other", "this"].map((side) => least(side).toFixed(1)).join(", ")}`,
  );
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((done) => setTimeout(done, durationMs));
}
