import { setTimeout as sleep } from "node:timers/promises";
import { callGateway } from "../clients/call-gateway.ts";
import { readScrape, sumOf } from "../clients/scrape-metrics.ts";
import type { TestGateway } from "../servers/start-gateway.ts";

const LOOKS_WITHIN_MS = 120_000;

/**
 * Resolves when each of the servers, with METRICS_ENABLED, has ended so many more looks for alerts. The first of them
 * may have begun before; the second has not.
 */
export async function passLooks(gateways: readonly TestGateway[], count = 2): Promise<void> {
  await Promise.all(gateways.map((gateway) => passLooksOf(gateway, count)));
}

async function passLooksOf({ port }: TestGateway, count: number): Promise<void> {
  const looks = async () => {
    const { text } = await callGateway(port, { method: "GET", path: "/metrics" });
    return sumOf(readScrape(text), "svc_job_runs_total", 'task="check alerts"');
  };
  const wanted = (await looks()) + count;
  const until = performance.now() + LOOKS_WITHIN_MS;
  while ((await looks()) < wanted) {
    if (performance.now() > until) throw new Error("no look for alerts has ended");
    await sleep(250);
  }
}
