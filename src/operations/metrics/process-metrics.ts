import { histogramSamples, type Metric, single } from "./metric.ts";

const RUNTIME = process.versions["bun"] === undefined ? "node" : "bun";

/** What runs here, and how it fares. */
export const PROCESS_METRICS: readonly Metric[] = [
  {
    name: "svc_build_info",
    type: "gauge",
    help: "Always 1; what runs here.",
    labels: ["version", "backend", "runtime", "runtime_version"],
    read: ({ version, backend }) => {
      const runtime_version = process.versions[RUNTIME] ?? "unknown";
      return [{ labels: { version, backend, runtime: RUNTIME, runtime_version }, value: 1 }];
    },
  },
  {
    name: "svc_process_start_time_seconds",
    type: "gauge",
    help: "When this process was started, in Unix time.",
    labels: [],
    read: ({ process: own }) => single(own.startedAt),
  },
  {
    name: "svc_process_cpu_seconds_total",
    type: "counter",
    help: "Time spent computing, by all threads.",
    labels: [],
    read: ({ process: own }) => single(own.cpuSeconds),
  },
  {
    name: "svc_process_resident_memory_bytes",
    type: "gauge",
    help: "Memory held.",
    labels: [],
    read: ({ process: own }) => single(own.residentBytes),
  },
  {
    name: "svc_process_heap_bytes",
    type: "gauge",
    help: "Memory that the runtime's objects use.",
    labels: [],
    read: ({ process: own }) => single(own.heapBytes),
  },
  {
    name: "svc_process_open_fds",
    type: "gauge",
    help: "Open files and connections; left out where the system does not tell.",
    labels: [],
    read: ({ process: own }) => single(own.openFiles),
  },
  {
    name: "svc_process_max_fds",
    type: "gauge",
    help: "How many may be open at once.",
    labels: [],
    read: ({ process: own }) => single(own.maxFiles),
  },
  {
    name: "svc_process_event_loop_lag_seconds",
    type: "histogram",
    help: "How late a timer was that looks twice a second: what every request had to wait just then.",
    labels: [],
    read: ({ process: own }) => histogramSamples(own.loopLag),
  },
];
