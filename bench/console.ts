// Measures the console in a browser: first paint, a streamed answer, open tabs, and what moves.
// usage: bun bench/console.ts [--only paint,stream,whole,tabs,beside,live] [--seconds 60] [--check], or node --import tsx
import { parseArgs } from "node:util";
import { type Goal, printGoals } from "./comparison/goals.ts";
import { measureBesideTabs } from "./console/beside-tabs.ts";
import { openConsoleBench } from "./console/console-bench.ts";
import { measureFirstPaint } from "./console/first-paint.ts";
import { measureLive } from "./console/live.ts";
import { measureStream, measureWholeAnswers } from "./console/stream-chat.ts";
import { measureTabs } from "./console/tabs.ts";
import { buildTools } from "./load/load-tools.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "60" },
    check: { type: "boolean", default: false },
  },
});
const wanted = options.only?.split(",");
buildTools();
const bench = await openConsoleBench();
const parts = {
  paint: () => measureFirstPaint(bench),
  stream: () => measureStream(bench, Number(options.seconds)),
  whole: () => measureWholeAnswers(bench, Number(options.seconds)),
  tabs: () => measureTabs(bench),
  beside: () => measureBesideTabs(bench),
  live: () => measureLive(bench),
};
try {
  const found: Goal[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (wanted === undefined || wanted.includes(name)) found.push(...(await measure()));
  }
  printGoals(found);
  if (options.check && found.some(({ reached }) => !reached)) process.exitCode = 1;
} finally {
  await bench.close();
}
