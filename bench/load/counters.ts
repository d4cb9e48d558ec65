// Loaded into the gateway ahead of its own code to count what it creates: `bun --preload`. Each SIGUSR2 appends a line
// to the file named by COUNTERS_FILE. Run it with BUN_JSC_useGC=0, so that every object is still there to be counted.
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";

interface HeapStats {
  readonly objectTypeCounts: Readonly<Record<string, number>>;
}

/** Everything that the process has created so far. */
export interface Counters {
  readonly objects: number;
  readonly promises: number;
  readonly heapBytes: number;
  readonly timers: number;
  readonly immediates: number;
}

const jsc: { readonly heapStats: () => HeapStats } = createRequire(import.meta.url)("bun:jsc");
const file = process.env["COUNTERS_FILE"] ?? "";
let timers = 0;
let immediates = 0;

globalThis.setTimeout = counted(globalThis.setTimeout, () => {
  timers += 1;
});
globalThis.setInterval = counted(globalThis.setInterval, () => {
  timers += 1;
});
globalThis.setImmediate = counted(globalThis.setImmediate, () => {
  immediates += 1;
});

process.on("SIGUSR2", () => {
  const { objectTypeCounts: types } = jsc.heapStats();
  const counters: Counters = {
    objects: Object.values(types).reduce((sum, count) => sum + count, 0),
    promises: types["Promise"] ?? 0,
    heapBytes: process.memoryUsage().heapUsed,
    timers,
    immediates,
  };
  appendFileSync(file, `${JSON.stringify({ ...counters, types })}\n`);
});

function counted<Call extends (...args: never[]) => unknown>(call: Call, count: () => void): Call {
  return new Proxy(call, {
    apply(target, self, args) {
      count();
      return Reflect.apply(target, self, args);
    },
  });
}
