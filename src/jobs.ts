import type { Deps } from "./deps.ts";
import { repeat } from "./lib/repeat.ts";

/** What the jobs are done with. */
export interface JobDeps {
  readonly settings: Pick<Deps["settings"], "ALERT_CHECK_INTERVAL_SEC">;
  readonly log: Deps["log"];
  readonly figures: Pick<Deps["figures"], "jobs">;
  readonly refusals: Pick<Deps["refusals"], "flush">;
  readonly usageUpkeep: Pick<Deps["usageUpkeep"], "run">;
  readonly usageReconciliation: Pick<Deps["usageReconciliation"], "run">;
  readonly alerts: Deps["alerts"];
  readonly pruneEvents: Deps["pruneEvents"];
}

/** What is done again and again behind the calls. */
interface Job {
  readonly name: string;
  /** Milliseconds from the end of one run to the start of the next. */
  readonly pauseMs: (settings: JobDeps["settings"]) => number;
  /** Longest time from the server's start to the first run; a pause where it is absent. */
  readonly firstMs?: number;
  readonly run: (deps: JobDeps) => Promise<void>;
}

const JOBS: readonly Job[] = [
  { name: "count refusals", pauseMs: () => 5_000, run: (deps) => deps.refusals.flush() },
  { name: "keep usage", pauseMs: () => 60_000, run: (deps) => deps.usageUpkeep.run() },
  {
    name: "reconcile usage",
    // Each day is looked at soon after its end, and again for as long as it differs.
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

/**
 * Runs the background jobs until they are stopped. A job that fails says so in the log and runs again in its time; what
 * it says each time is written once.
 */
export function startJobs(deps: JobDeps): { readonly stop: () => void } {
  const { settings, figures, log } = deps;
  const { jobs } = figures;
  let isStopped = false;
  jobs.begin(Object.fromEntries(JOBS.map(({ name, pauseMs }) => [name, pauseMs(settings)])));
  const running = JOBS.map(({ name, pauseMs, firstMs, run }) => {
    let said: string | undefined;
    const work = async () => {
      try {
        await jobs.watch(name, () => run(deps));
        said = undefined;
      } catch (thrown) {
        const text = String(thrown);
        // What a stop cuts off is no fault.
        if (text !== said && !isStopped) log.error({ err: thrown, job: name }, "a job failed");
        said = text;
      }
    };
    return repeat(pauseMs(settings), work, firstMs);
  });
  return {
    stop() {
      isStopped = true;
      jobs.end();
      for (const job of running) job.stop();
    },
  };
}
