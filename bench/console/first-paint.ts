import { atMost, type Goal } from "../comparison/goals.ts";
import { median } from "../comparison/report.ts";
import { type ConsoleBench, MODEL } from "./console-bench.ts";
import { writeLongChat } from "./long-texts.ts";

const PAGES = ["overview", "keys", "usage", "requests", "workflows", "chat"];
const ROUNDS = 3;
const MESSAGES = 50;

/** Opens pages with nothing in the browser's cache: the milliseconds until their largest element is painted. */
export async function measureFirstPaint(bench: ConsoleBench): Promise<readonly Goal[]> {
  const document = writeLongChat(MESSAGES, MODEL);
  const { id } = await bench.call("POST", "/api/chats", { document, replaces: [] });
  const paints = new Map<string, number>();
  // The first tab starts the browser's processes.
  await paintOf(bench, "license");
  for (const path of [...PAGES, `chat/${id}`]) {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) rounds.push(await paintOf(bench, path));
    paints.set(path, median(rounds) ?? Number.NaN);
  }
  console.log("\nlargest paint, cold, ms");
  for (const [path, ms] of paints) console.log(`  ${path.padEnd(36)}${ms.toFixed(0).padStart(6)}`);
  const slowest = Math.max(...PAGES.map((path) => paints.get(path) ?? Number.NaN));
  return [
    atMost("cold largest paint of the slowest page, ms", 1_000, slowest),
    atMost(
      `the same of a chat of ${MESSAGES} long messages, ms`,
      1_500,
      paints.get(`chat/${id}`) ?? Number.NaN,
    ),
  ];
}

async function paintOf(bench: ConsoleBench, path: string): Promise<number> {
  const tab = await bench.openTab();
  await tab.open(path);
  const paint = await tab.page.evaluate(largestPaint);
  await tab.close();
  return paint;
}

/** Runs in the page. */
function largestPaint(): Promise<number> {
  return new Promise((resolve) => {
    new PerformanceObserver((list) => {
      resolve(list.getEntries().at(-1)?.startTime ?? Number.NaN);
    }).observe({ type: "largest-contentful-paint", buffered: true });
  });
}
