import { setTimeout as sleep } from "node:timers/promises";

const NAME = "svc_process_event_loop_lag_seconds";
const BUCKET = /^svc_process_event_loop_lag_seconds_bucket\{.*le="([^"]+)".*\} (\d+)/gm;

/** How late the event loop of a gateway with METRICS_ENABLED was when it looked, twice a second. */
export interface LoopLag {
  readonly looks: number;
  /** The upper bound in milliseconds of the longest; 0 where there was no look, Infinity above the last bound. */
  readonly atMostMs: number;
}

type Counts = ReadonlyMap<number, number>;

/** Watches the event loop of a gateway by its own metrics, until `stop`. */
export async function watchLoopLag(port: number) {
  // The first scrape begins the looks.
  await readCounts(port);
  await sleep(1_000);
  const before = await readCounts(port);
  return {
    async stop(): Promise<LoopLag> {
      const after = await readCounts(port);
      const more = (bound: number) => (after.get(bound) ?? 0) - (before.get(bound) ?? 0);
      const looks = more(Number.POSITIVE_INFINITY);
      const bounds = [...after.keys()].sort((one, other) => one - other);
      const longest = bounds.find((bound) => more(bound) === looks) ?? Number.NaN;
      return { looks, atMostMs: looks === 0 ? 0 : longest * 1_000 };
    },
  };
}

/** Looks up to each bound in seconds. */
async function readCounts(port: number): Promise<Counts> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  if (!text.includes(NAME)) throw new Error(`the metrics are answered with ${answer.status}`);
  return new Map(
    [...text.matchAll(BUCKET)].map(([, bound, count]) => [
      Number(bound === "+Inf" ? "Infinity" : bound),
      Number(count),
    ]),
  );
}
