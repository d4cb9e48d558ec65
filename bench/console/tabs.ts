import type { ConsolePage } from "../../tests/console/support/console-page.ts";
import { scrapeMetrics, sumOf } from "../../tests/support/clients/scrape-metrics.ts";
import { atMost, type Goal } from "../comparison/goals.ts";
import { cpuSeconds } from "../load/measured-process.ts";
import type { ConsoleBench } from "./console-bench.ts";

export const TABS = 50;
export const TAB_PAGES = [
  ...["overview", "keys", "usage", "requests"],
  ...["models", "chat", "workflows", "events"],
];
/** Longer than the rarest polling, which is that of a new build each minute. */
const WATCHED_MS = 65_000;
/** What was asked for while the tabs were opened and hidden has been answered by then. */
const SETTLE_MS = 5_000;

/** Many open tabs: what they cost the gateway while they are seen, and that hidden ones ask nothing. */
export async function measureTabs(bench: ConsoleBench): Promise<readonly Goal[]> {
  const tabs: ConsolePage[] = [];
  for (let number = 0; number < TABS; number += 1) {
    const tab = await bench.openTab();
    await tab.open(TAB_PAGES[number % TAB_PAGES.length] ?? "");
    tabs.push(tab);
  }
  await sleep(SETTLE_MS);
  const seen = await watchGateway(bench);
  for (const { page } of tabs) await page.evaluate(hide);
  await sleep(SETTLE_MS);
  const hidden = await watchGateway(bench);
  for (const tab of tabs) await tab.close();
  console.log(`\n${TABS} open tabs, in ${WATCHED_MS / 1_000} s`);
  for (const [name, { requests, percent }] of Object.entries({ seen, hidden })) {
    console.log(`  ${name.padEnd(8)}${requests} requests, ${percent.toFixed(2)}% of a core`);
  }
  return [
    atMost(`${TABS} open tabs, % of a core of the gateway`, 5, seen.percent - hidden.percent),
    atMost(`requests of ${TABS} hidden tabs`, 0, hidden.requests),
  ];
}

/** Counts by the gateway's own figures what is asked of it, and what it works meanwhile. */
async function watchGateway({ url, gateway }: ConsoleBench) {
  const before = await scrapeMetrics({ url });
  const [cpu, from] = [cpuSeconds(gateway.process.pid), performance.now()];
  await sleep(WATCHED_MS);
  const seconds = (performance.now() - from) / 1_000;
  const percent = (100 * (cpuSeconds(gateway.process.pid) - cpu)) / seconds;
  const after = await scrapeMetrics({ url });
  const asked = sumOf(after, "svc_http_requests_total") - sumOf(before, "svc_http_requests_total");
  // The first look was counted once it was answered.
  return { percent, requests: asked - 1 };
}

/** Runs in the page: a browser without windows shows all tabs, so the page is told that it is hidden. */
function hide(): void {
  for (const [name, value] of [
    ["visibilityState", "hidden"],
    ["hidden", true],
  ] as const) {
    Object.defineProperty(document, name, { configurable: true, get: () => value });
  }
  document.dispatchEvent(new Event("visibilitychange"));
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
