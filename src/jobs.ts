import type { Deps } from "./deps.ts";
import { repeat } from "./lib/time/repeat.ts";

/**
 * Runs the background jobs of all parts until they are stopped. A failed job is logged and runs again at its next time;
 * repeated identical failures are logged once.
 */
export function startJobs({
  parts,
  figures,
  log,
}: Pick<Deps, "parts" | "log"> & { readonly figures: Pick<Deps["figures"], "jobs"> }): {
  readonly stop: () => void;
} {
  const jobs = parts.flatMap((part) => part.jobs ?? []);
  let isStopped = false;
  figures.jobs.begin(jobs);
  const running = jobs.map(({ name, pauseMs, firstMs, run }) => {
    let logged: string | undefined;
    const work = async () => {
      try {
        await figures.jobs.watch(name, run);
        logged = undefined;
      } catch (thrown) {
        const text = String(thrown);
        // A failure while the server stops is not an error.
        if (text !== logged && !isStopped) log.error({ err: thrown, job: name }, "a job failed");
        logged = text;
      }
    };
    return repeat(pauseMs, work, firstMs);
  });
  return {
    stop() {
      isStopped = true;
      figures.jobs.end();
      for (const job of running) job.stop();
    },
  };
}
