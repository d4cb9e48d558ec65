import { atMost, type Goal } from "../comparison/goals.ts";
import { median } from "../comparison/report.ts";
import { loadRequests } from "../load/load-tools.ts";
import type { ConsoleBench } from "./console-bench.ts";
import { TAB_PAGES, TABS } from "./tabs.ts";

const RECORDED_MS = 30_000;
const ROUNDS = 5;
const LOAD = { connections: 4, seconds: 6, ratePerS: 100 };

/** A call that a tab makes, with the milliseconds after which it does. */
interface TabCall {
  readonly path: string;
  readonly atMs: number;
}

/**
 * Chat calls beside what open tabs ask for. The calls of a tab of each page are recorded, and repeated as often as there
 * are tabs, without a browser: on this machine it would take the processor that it has of its own elsewhere.
 */
export async function measureBesideTabs(bench: ConsoleBench): Promise<readonly Goal[]> {
  const recorded = await recordTabs(bench);
  await loadRequests(bench.gateway, LOAD);
  const more: number[] = [];
  console.log(`\nchat calls, p99 ms without and beside ${TABS} tabs`);
  for (let round = 0; round < ROUNDS; round += 1) {
    const alone = (await loadRequests(bench.gateway, LOAD)).latencyMs.p99;
    const replay = startReplay(bench, recorded);
    const beside = (await loadRequests(bench.gateway, LOAD)).latencyMs.p99;
    const calls = await replay.stop();
    console.log(`  ${alone.toFixed(2)}  ${beside.toFixed(2)}  (${calls} calls of tabs)`);
    more.push(beside - alone);
  }
  const found = median(more) ?? Number.NaN;
  return [atMost(`p99 of chat calls beside ${TABS} tabs more than without, ms`, 1, found)];
}

async function recordTabs(bench: ConsoleBench): Promise<readonly (readonly TabCall[])[]> {
  const tabs = await Promise.all(
    TAB_PAGES.map(async (path) => {
      const tab = await bench.openTab();
      await tab.open(path);
      return tab;
    }),
  );
  const from = performance.now();
  const calls = tabs.map(({ page }) => {
    const made: TabCall[] = [];
    page.on("request", (request) => {
      const path = request.url().slice(bench.url.length);
      if (request.method() === "GET") made.push({ path, atMs: performance.now() - from });
    });
    return made;
  });
  await new Promise((resolve) => setTimeout(resolve, RECORDED_MS));
  for (const tab of tabs) await tab.close();
  return calls;
}

/** Repeats the calls of each tab from a place of its own in the record on, and begins again at its end. */
function startReplay({ url, session }: ConsoleBench, recorded: readonly (readonly TabCall[])[]) {
  const headers = { cookie: `gateway_session=${session}` };
  const underWay: Promise<unknown>[] = [];
  const ask = (path: string) =>
    void underWay.push(fetch(url + path, { headers }).then((answer) => answer.arrayBuffer()));
  const timers = Array.from({ length: TABS }, (_, tab) =>
    (recorded[tab % recorded.length] ?? []).map(({ path, atMs }) => {
      const shift = (tab * RECORDED_MS) / TABS;
      return setTimeout(ask, (atMs + shift) % RECORDED_MS, path);
    }),
  ).flat();
  return {
    /** Returns how many calls were made. */
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      await Promise.all(underWay);
      return underWay.length;
    },
  };
}
