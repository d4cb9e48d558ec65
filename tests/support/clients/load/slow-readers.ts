import { setTimeout as sleep } from "node:timers/promises";
import { queuedBytes } from "../../faults/queued-bytes.ts";
import { percentile } from "../../percentile.ts";
import { memoryMb } from "../../processes/process-use.ts";
import { type Program, spawnProgram } from "../../processes/spawn-program.ts";
import { callGateway, chatBody, openCall } from "../call-gateway.ts";
import type { RawClient } from "../raw-client.ts";

const MODEL = "offering";
const HEALTHY_PAUSE_MS = 30;
const MEBIBYTE = 1_048_576;
const STILL_MS = 500;
const BLOCKED_WITHIN_MS = 60_000;

/** What an engine that offers more than anybody reads has got rid of. */
interface OfferingStats {
  readonly open: number;
  readonly ended: number;
  /** Bytes of each open stream that have left the engine. */
  readonly out: readonly number[];
}

export interface OfferingEngine {
  readonly url: string;
  readonly port: number;
  readonly stats: () => Promise<OfferingStats>;
  readonly stop: () => Promise<void>;
}

/** An engine in a process of its own that offers each stream so much. */
export async function startOfferingEngine(offeredMb: number): Promise<OfferingEngine> {
  const { child, output, says, ended }: Program = await spawnProgram("offering-engine", [
    String(offeredMb),
  ]);
  await says("\n");
  const port = Number(/port (\d+)/.exec(output())?.[1]);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async stats() {
      const answer = await callGateway(port, { method: "GET", path: "/stats" });
      return answer.json() as OfferingStats;
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export interface SlowReadersOptions {
  readonly target: { readonly port: number; readonly pid: number };
  readonly engine: OfferingEngine;
  readonly readers: number;
  /** Streams of healthy clients: before, and once nothing moves any more. */
  readonly healthy: number;
}

export interface SlowReadersReport {
  readonly memoryMb: { readonly before: number; readonly peak: number };
  /** What left the engine and is in no system's buffer, in MiB: the process has it. */
  readonly heldPerStreamMb: number;
  /** Most that left the engine of one stream: in the process and in the buffers of both systems. */
  readonly outPerStreamMb: number;
  /** Nothing more leaves the engine. */
  readonly isBlocked: boolean;
  readonly blockedAfterMs: number;
  readonly healthyFirstP99Ms: {
    readonly before: number;
    /** While all buffers fill, as fast as the processor allows. */
    readonly filling: number;
    readonly during: number;
  };
  /** Streams that the engine had open at the end of the look. */
  readonly open: number;
  /** The readers' connections: still there, to be read on or closed. */
  readonly clients: readonly RawClient[];
}

/** Has clients ask for long streams and read nothing of them but the heads, and looks at the server meanwhile. */
export async function holdSlowReaders(options: SlowReadersOptions): Promise<SlowReadersReport> {
  const { target, engine, readers, healthy } = options;
  const { port, pid } = target;
  await firstByteTimes(port, healthy);
  const baseline = await firstByteTimes(port, healthy);
  const before = memoryMb(pid);
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, memoryMb(pid));
  }, 100);
  const openedAt = performance.now();
  const clients = await Promise.all(Array.from({ length: readers }, () => openSlowReader(port)));
  const { isBlocked, firstMs: filling } = await untilBlocked(port, engine);
  const blockedAfterMs = Math.round(performance.now() - openedAt);
  const inSystem = queuedBytes(port) + queuedBytes(engine.port);
  const { out, open } = await engine.stats();
  const read = sum(clients.map((client) => client.received().length));
  const during = await firstByteTimes(port, healthy);
  clearInterval(timer);
  const p99 = (values: readonly number[]) => Math.round(percentile(values, 0.99));
  return {
    memoryMb: { before: Math.round(before), peak: Math.round(peak) },
    heldPerStreamMb: round((sum(out) - inSystem - read) / readers / MEBIBYTE),
    outPerStreamMb: round(Math.max(0, ...out) / MEBIBYTE),
    isBlocked,
    blockedAfterMs,
    healthyFirstP99Ms: { before: p99(baseline), filling: p99(filling), during: p99(during) },
    open,
    clients,
  };
}

/** Waits until the engine gets rid of nothing more, while a healthy client goes on. */
async function untilBlocked(
  port: number,
  engine: OfferingEngine,
): Promise<{ readonly isBlocked: boolean; readonly firstMs: readonly number[] }> {
  const until = performance.now() + BLOCKED_WITHIN_MS;
  const firstMs: number[] = [];
  let before = -1;
  while (performance.now() < until) {
    const now = sum((await engine.stats()).out);
    if (now === before) return { isBlocked: true, firstMs };
    before = now;
    firstMs.push(...(await firstByteTimes(port, 1)));
    await sleep(STILL_MS);
  }
  return { isBlocked: false, firstMs };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

async function openSlowReader(port: number): Promise<RawClient> {
  const body = chatBody(MODEL, { stream: true, max_tokens: 10_000 });
  const client = await openCall(port, { body });
  await client.readUntil((received) => received.includes("\r\n\r\n"), 60_000);
  client.pause();
  return client;
}

/** Milliseconds to the first word of short streams, one after the other. */
async function firstByteTimes(port: number, count: number): Promise<number[]> {
  const tookMs: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const startedAt = performance.now();
    const client = await openCall(port, { body: chatBody(MODEL, { stream: true, max_tokens: 7 }) });
    await client.readUntil((received) => received.includes(" one"), 60_000);
    tookMs.push(performance.now() - startedAt);
    client.close();
    await sleep(HEALTHY_PAUSE_MS);
  }
  return tookMs;
}
