import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { callGateway } from "../clients/call-gateway.ts";
import { percentile } from "../percentile.ts";
import { countDescriptors, memoryMb } from "../processes/process-use.ts";
import { expectCleanOutput } from "../stages/engine-stage.ts";
import type { TestGateway } from "./start-gateway.ts";

const PROBE_PAUSE_MS = 100;
/** What a probe may take where other work shares the machine and this very process; the figure itself is told. */
const HEALTH_P99_MS = 30_000;
const DESCRIPTORS_MORE_MAX = 10;
const DESCRIPTORS_WITHIN_MS = 60_000;
const MEMORY_WITHIN_MS = 60_000;
const MEMORY_MORE_MAX = { share: 0.15, megabytes: 40 };

export interface WatchOptions {
  /** Default HEALTH_P99_MS. */
  readonly healthP99Ms?: number;
  /** Connections to engines that the runtime keeps for the next calls; default none. */
  readonly keptConnections?: number;
  /** Whether memory has to come back: for a server that is warm when the watch begins. */
  readonly isWarm?: boolean;
}

export interface WatchFigures {
  readonly healthP99Ms: number;
  readonly descriptors: { readonly before: number; readonly after: number };
  readonly memoryMb: { readonly before: number; readonly peak: number; readonly after: number };
}

/** Looks at a server while a case runs. */
export interface ServerWatch {
  /**
   * Checks what must hold after every case: the same process, nothing unhandled, no secret told, health always 200
   * and soon, descriptors and memory back where they were. Returns the figures.
   */
  readonly finish: () => Promise<WatchFigures>;
}

/** Connections to the engine and the database that the runtime keeps for the next calls, unless a load makes it more. */
const KEPT_CONNECTIONS = 16;

/** Begins to watch; what the server holds now is what it has to come back to. */
export function watchServer(
  gateway: TestGateway,
  {
    healthP99Ms = HEALTH_P99_MS,
    keptConnections = KEPT_CONNECTIONS,
    isWarm = false,
  }: WatchOptions = {},
): ServerWatch {
  const { pid, port } = gateway;
  const descriptors = countDescriptors(pid);
  const before = memoryMb(pid);
  const tookMs: number[] = [];
  const statuses = new Set<number>();
  let peak = before;
  let isOver = false;
  const probe = async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const health = await callGateway(port, { method: "GET", path: "/api/health" });
      tookMs.push(performance.now() - startedAt);
      statuses.add(health.status);
      peak = Math.max(peak, memoryMb(pid));
      await sleep(PROBE_PAUSE_MS);
    }
  };
  const probing = probe();
  // Told by `finish`.
  probing.catch(() => undefined);
  return {
    async finish() {
      isOver = true;
      await probing;
      expect([...statuses]).toEqual([200]);
      const p99 = percentile(tookMs, 0.99);
      expect(p99).toBeLessThan(healthP99Ms);
      expectCleanOutput(gateway);
      await expect
        .poll(() => countDescriptors(pid), { timeout: DESCRIPTORS_WITHIN_MS })
        .toBeLessThanOrEqual(descriptors + DESCRIPTORS_MORE_MAX + keptConnections);
      const { share, megabytes } = MEMORY_MORE_MAX;
      const most = Math.max(before * (1 + share), before + megabytes);
      if (isWarm)
        await expect.poll(() => memoryMb(pid), { timeout: MEMORY_WITHIN_MS }).toBeLessThan(most);
      return {
        healthP99Ms: Math.round(p99),
        descriptors: { before: descriptors, after: countDescriptors(pid) },
        memoryMb: {
          before: Math.round(before),
          peak: Math.round(peak),
          after: Math.round(memoryMb(pid)),
        },
      };
    },
  };
}
