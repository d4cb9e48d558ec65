// The benchmark: the model server directly, a bare proxy and the gateway, side by side in one run.
// usage: bun run bench [--quick] [--embedded]
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { budgetTable, measureBudget } from "./budget.ts";
import { type Findings, goals, printGoals } from "./comparison/goals.ts";
import { findHighestRate, GAP_P99_MAX_MS } from "./comparison/highest-rate.ts";
import { scenarioFigures, scenarioTable } from "./comparison/report.ts";
import { type Run, type Runs, runScenario, scenarios } from "./comparison/scenarios.ts";
import { startTargets, TARGET_NAMES, type Targets } from "./comparison/targets.ts";
import { measureTranslation, translationTable } from "./comparison/translation.ts";
import { buildTools, loadRequests } from "./load/load-tools.ts";
import { countRows } from "./usage/count-rows.ts";

const RESULTS = "bench/results";
const WARM_UP_SECONDS = 2;
const SETTLE_MS = 2_000;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    embedded: { type: "boolean", default: false },
  },
});
const targets = await startTargets(buildTools(), {
  embedded: options.embedded,
  logFolder: RESULTS,
});
const { process: gateway } = targets.of.gateway;
console.log(`${cpus().length} cores, ${cpus()[0]?.model}; database: ${targets.database}`);
console.log(`gateway ready after ${Math.round(gateway.startMs)} ms`);

try {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const idleMemoryMb = gateway.memoryMb();
  const warmUp = await warmUpAll(targets);
  const plan = scenarios(options.quick);
  const measured: { readonly name: string; readonly runs: Runs }[] = [];
  for (const scenario of plan) {
    const runs = await runScenario(scenario, targets);
    console.log(scenarioTable(scenario.name, runs));
    measured.push({ name: scenario.name, runs });
  }
  const translation = await measureTranslation(targets, options.quick);
  console.log(translationTable(translation));
  const highest = options.quick ? undefined : await findHighestRates(targets);

  const gatewayRuns: readonly Run[] = [
    ...measured.flatMap(({ runs }) => runs.gateway),
    ...translation.chat,
    ...translation.messages,
    ...(highest?.gateway.runs ?? []),
  ];
  const answered = gatewayRuns.reduce((sum, run) => sum + run.answered, warmUp);
  if (targets.database === "embedded") await gateway.stop();
  const { rows, outputTokens } = await countRows(targets, answered);
  console.log(
    `\nrequests answered ${answered}, rows written ${rows}, output tokens metered ${outputTokens}`,
  );

  const budget = await measureBudget(targets);
  console.log(budgetTable(budget));
  const [requests, burst, openLoop, paced1000, paced4000] = measured.map(({ runs }) => runs);
  if (!requests || !burst || !openLoop || !paced1000 || !paced4000)
    throw new Error("a scenario is missing");
  const findings: Findings = {
    ...{ requests, burst, openLoop, paced1000, paced4000, translation },
    ...{ idleMemoryMb, rows, answered, highest },
  };
  const found = goals(findings, targets.database);
  printGoals(found);
  writeResults(measured, { ...findings, budget, goals: found });
} finally {
  await targets.stop();
}

/** Returns the number of the gateway's answers, because they have usage rows too. */
async function warmUpAll({ of }: Targets): Promise<number> {
  const load = { connections: 32, seconds: WARM_UP_SECONDS, ratePerS: 0 };
  for (const name of TARGET_NAMES.filter((each) => each !== "gateway"))
    await loadRequests(of[name], load);
  return (await loadRequests(of.gateway, load)).answered;
}

async function findHighestRates(all: Targets) {
  const passThrough = await findHighestRate(all, "passThrough");
  const own = await findHighestRate(all, "gateway");
  console.log(
    `\nhighest rate held at 20 tokens/s a stream (gap p99 at most ${GAP_P99_MAX_MS} ms, none broken)`,
  );
  for (const [name, { streams, tokensPerS }] of [
    ["pass-through", passThrough],
    ["gateway", own],
  ] as const) {
    console.log(
      `  ${name.padEnd(22)}${streams} streams, ${tokensPerS.toLocaleString("en")} tokens/s`,
    );
  }
  return { passThrough, gateway: own };
}

function writeResults(measured: readonly { name: string; runs: Runs }[], rest: object): void {
  const figures = Object.fromEntries(
    measured.map(({ name, runs }) => [name, scenarioFigures(runs)]),
  );
  const at = new Date().toISOString();
  mkdirSync(RESULTS, { recursive: true });
  const file = `${RESULTS}/${at.replaceAll(":", "-")}.json`;
  writeFileSync(
    file,
    JSON.stringify({ at, options, database: targets.database, figures, ...rest }, null, 2),
  );
  console.log(`\nevery run: ${file}`);
}
