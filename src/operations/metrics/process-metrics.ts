import { readdir, readFile } from "node:fs/promises";
import { histogramSamples, type Metric, single } from "../../core/metric.ts";
import type { Part } from "../../core/part.ts";
import { Histogram } from "../../lib/histogram.ts";

const RUNTIME = process.versions["bun"] === undefined ? "node" : "bun";
const LAG_INTERVAL_MS = 500;
const LAGS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const OPEN_FILES = "/proc/self/fd";
const LIMITS = "/proc/self/limits";

/** Values that are read asynchronously. Undefined where the system does not report them. */
interface Files {
  readonly open: number | undefined;
  readonly max: number | undefined;
}

/**
 * Opens the metrics of this process. Its event loop is observed from the first scrape on.
 * @param version of the package.
 */
export function openProcessMetrics(version: string, backend: string): Part {
  const loopLag = new Histogram(LAGS);
  let files: Files = { open: undefined, max: undefined };
  let timer: NodeJS.Timeout | undefined;
  return {
    metrics: [
      buildInfo(version, backend),
      ...useMetrics(),
      ...fileMetrics(() => files),
      {
        name: "svc_process_event_loop_lag_seconds",
        type: "histogram",
        help: "How late a timer was that looks twice a second: what every request had to wait just then.",
        labels: [],
        read: () => histogramSamples(loopLag),
      },
    ],
    async refresh() {
      timer ??= watchLag(loopLag);
      files = { open: await countOpenFiles(), max: await readMaxFiles() };
    },
    async close() {
      clearInterval(timer);
    },
  };
}

function buildInfo(version: string, backend: string): Metric {
  return {
    name: "svc_build_info",
    type: "gauge",
    help: "Always 1; what runs here.",
    labels: ["version", "backend", "runtime", "runtime_version"],
    read() {
      const runtime_version = process.versions[RUNTIME] ?? "unknown";
      return [{ labels: { version, backend, runtime: RUNTIME, runtime_version }, value: 1 }];
    },
  };
}

function useMetrics(): readonly Metric[] {
  const startedAt = Math.round(Date.now() - process.uptime() * 1_000) / 1_000;
  const memory = createMemoryReader();
  return [
    {
      name: "svc_process_start_time_seconds",
      type: "gauge",
      help: "When this process was started, in Unix time.",
      labels: [],
      read: () => single(startedAt),
    },
    {
      name: "svc_process_cpu_seconds_total",
      type: "counter",
      help: "Time spent computing, by all threads.",
      labels: [],
      read() {
        const { user, system } = process.cpuUsage();
        return single((user + system) / 1_000_000);
      },
    },
    {
      name: "svc_process_resident_memory_bytes",
      type: "gauge",
      help: "Memory held.",
      labels: [],
      read: () => single(memory().rss),
    },
    {
      name: "svc_process_heap_bytes",
      type: "gauge",
      help: "Memory that the runtime's objects use.",
      labels: [],
      read: () => single(memory().heapUsed),
    },
  ];
}

function fileMetrics(files: () => Files): readonly Metric[] {
  return [
    {
      name: "svc_process_open_fds",
      type: "gauge",
      help: "Open files and connections; left out where the system does not tell.",
      labels: [],
      read: () => single(files().open),
    },
    {
      name: "svc_process_max_fds",
      type: "gauge",
      help: "How many may be open at once.",
      labels: [],
      read: () => single(files().max),
    },
  ];
}

function createMemoryReader(): () => { readonly rss: number; readonly heapUsed: number } {
  let memory = { rss: 0, heapUsed: 0 };
  return () => {
    try {
      memory = process.memoryUsage();
    } catch {
      // Node reads a file for it: while no file descriptor is free, the last value is kept.
    }
    return memory;
  };
}

/** Observes by how many seconds a timer is late. */
function watchLag(loopLag: Histogram): NodeJS.Timeout {
  let lookedAt = performance.now();
  return setInterval(() => {
    const now = performance.now();
    loopLag.observe(Math.max(0, now - lookedAt - LAG_INTERVAL_MS) / 1_000);
    lookedAt = now;
  }, LAG_INTERVAL_MS).unref();
}

async function countOpenFiles(): Promise<number | undefined> {
  const names = await readdir(OPEN_FILES).catch(() => undefined);
  return names?.length;
}

async function readMaxFiles(): Promise<number | undefined> {
  const text = await readFile(LIMITS, "utf8").catch(() => "");
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}
