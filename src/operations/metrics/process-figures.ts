import { readdir, readFile } from "node:fs/promises";
import { Histogram } from "../../lib/histogram.ts";

/** What a process tells of itself. */
export interface ProcessFigures {
  /** Seconds of computing since the start. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  /** Of the runtime's objects, used. */
  readonly heapBytes: number;
  /** Undefined where the system does not tell. */
  readonly openFiles: number | undefined;
  readonly maxFiles: number | undefined;
  /** Unix seconds. */
  readonly startedAt: number;
  /** Seconds that a timer came late, as often as it was looked. */
  readonly loopLag: Histogram;
}

/** Watches this process until closed. */
export interface ProcessWatch {
  readonly read: () => Promise<ProcessFigures>;
  readonly close: () => void;
}

const LOOK_EVERY_MS = 500;
const LAGS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const OPEN_FILES = "/proc/self/fd";
const LIMITS = "/proc/self/limits";

export function watchProcess(): ProcessWatch {
  const startedAt = Math.round(Date.now() - process.uptime() * 1_000) / 1_000;
  const loopLag = new Histogram(LAGS);
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    loopLag.observe(Math.max(0, now - lookedAt - LOOK_EVERY_MS) / 1_000);
    lookedAt = now;
  }, LOOK_EVERY_MS).unref();
  let memory = { rss: 0, heapUsed: 0 };
  const readMemory = () => {
    try {
      memory = process.memoryUsage();
    } catch {
      // Node reads a file for it: while no descriptor is left, the last reading holds.
    }
    return memory;
  };
  return {
    async read() {
      const { user, system } = process.cpuUsage();
      const { rss, heapUsed } = readMemory();
      return {
        cpuSeconds: (user + system) / 1_000_000,
        residentBytes: rss,
        heapBytes: heapUsed,
        openFiles: await countOpenFiles(),
        maxFiles: await readMaxFiles(),
        startedAt,
        loopLag,
      };
    },
    close: () => clearInterval(timer),
  };
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
