import type { Deps } from "./deps.ts";
import { repeat } from "./lib/repeat.ts";

/** What is done again and again behind the calls. */
interface Job {
  readonly name: string;
  /** Milliseconds from the end of one run to the start of the next. */
  readonly pauseMs: (settings: Deps["settings"]) => number;
  /** Longest time from the server's start to the first run; a pause where it is absent. */
  readonly firstMs?: number;
  readonly run: (deps: Deps) => Promise<void>;
}

const JOBS: readonly Job[] = [
  { name: "count refusals", pauseMs: () => 5_000, run: (deps) => deps.refusals.flush() },
  { name: "keep usage", pauseMs: () => 60_000, run: (deps) => deps.usageUpkeep.run() },
  {
    name: "reconcile usage",
    // Each day is looked at once, soon after its end.
    pauseMs: () => 3_600_000,
    firstMs: 300_000,
    run: (deps) => deps.usageReconciliation.run(),
  },
  {
    name: "check alerts",
    pauseMs: ({ ALERT_CHECK_INTERVAL_SEC: seconds }) => seconds * 1_000,
    // An engine that is started together with the gateway may need a moment.
    firstMs: 60_000,
    run: (deps) => deps.alerts.check(),
  },
  { name: "prune events", pauseMs: () => 600_000, run: (deps) => deps.pruneEvents() },
];

/** Runs the background jobs until they are stopped. A job that fails says so in the log and runs again in its time. */
export function startJobs(deps: Deps): { readonly stop: () => void } {
  const { jobs } = deps.figures;
  jobs.begin(JOBS.map(({ name }) => name));
  const running = JOBS.map(({ name, pauseMs, firstMs, run }) => {
    const work = () =>
      jobs
        .watch(name, () => run(deps))
        .catch((error: unknown) => deps.log.error({ err: error, job: name }, "a job failed"));
    return repeat(pauseMs(deps.settings), work, firstMs);
  });
  return {
    stop() {
      jobs.end();
      for (const job of running) job.stop();
    },
  };
}
