import { setTimeout as sleep } from "node:timers/promises";

const STREAMS = 20;
const REQUESTS_PER_SECOND = 50;
/** The time until the streams flow evenly. */
const SETTLE_MS = 1_500;
/** The longest wait for answers at the end of the load. */
const REST_MS = 5_000;

export interface StreamTarget {
  readonly url: string;
  readonly key: string;
}

export interface StreamFigures {
  /** The longest time between two pieces of any stream. */
  readonly gapMs: number;
  /** The p99 latency of answers without streaming. */
  readonly p99Ms: number;
  readonly failures: number;
}

/** Runs streams and requests against a gateway, and reports their results while `work` ran. */
export async function watchStreams(
  target: StreamTarget,
  work: () => Promise<unknown>,
): Promise<StreamFigures> {
  const end = new AbortController();
  const figures = { gapMs: 0, failures: 0, times: [] as number[], isWatched: false };
  const streams = Array.from({ length: STREAMS }, () => readStream(target, end.signal, figures));
  const requests = sendRequests(target, end.signal, figures);
  await sleep(SETTLE_MS);
  figures.isWatched = true;
  await work();
  figures.isWatched = false;
  end.abort();
  await Promise.race([Promise.all([...streams, requests]), sleep(REST_MS)]);
  const times = figures.times.sort((one, other) => one - other);
  const p99Ms = times[Math.ceil(0.99 * times.length) - 1] ?? 0;
  return { gapMs: figures.gapMs, p99Ms, failures: figures.failures };
}

interface Tally {
  gapMs: number;
  failures: number;
  readonly times: number[];
  isWatched: boolean;
}

async function readStream(target: StreamTarget, signal: AbortSignal, tally: Tally): Promise<void> {
  try {
    const response = await ask(target, { stream: true }, signal);
    if (response.body === null) throw new Error("an answer without a body");
    let lastAt: number | undefined;
    for await (const _ of response.body) {
      const now = performance.now();
      if (tally.isWatched && lastAt !== undefined)
        tally.gapMs = Math.max(tally.gapMs, now - lastAt);
      lastAt = tally.isWatched ? now : undefined;
    }
    tally.failures += 1;
  } catch {
    if (!signal.aborted) tally.failures += 1;
  }
}

async function sendRequests(
  target: StreamTarget,
  signal: AbortSignal,
  tally: Tally,
): Promise<void> {
  const open: Promise<void>[] = [];
  const from = performance.now();
  for (let sent = 0; !signal.aborted; sent += 1) {
    const dueMs = from + (sent * 1_000) / REQUESTS_PER_SECOND - performance.now();
    if (dueMs > 0) await sleep(dueMs);
    open.push(request(target, tally));
  }
  await Promise.all(open);
}

async function request(target: StreamTarget, tally: Tally): Promise<void> {
  const from = performance.now();
  try {
    const response = await ask(target, {});
    await response.text();
    if (response.status !== 200) tally.failures += 1;
    if (tally.isWatched) tally.times.push(performance.now() - from);
  } catch {
    tally.failures += 1;
  }
}

function ask({ url, key }: StreamTarget, more: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages: [{ role: "user", content: "Tell me something." }],
      max_tokens: 4_000,
      ...more,
    }),
    ...(signal !== undefined && { signal }),
  });
}
