import type { Clock } from "../../lib/clock.ts";

/** How one background job has fared since the start. */
export interface JobFigure {
  ok: number;
  failed: number;
  /** Unix seconds of its last success; 0 before the first. */
  succeededAt: number;
}

/** What the background jobs of this process do. */
export interface JobFigures {
  readonly jobs: Readonly<Record<string, JobFigure>>;
  /** The jobs are done on time from now on. */
  readonly begin: (names: readonly string[]) => void;
  readonly end: () => void;
  readonly isRunning: () => boolean;
  /** Does one run of a job, and counts how it ended. Rejects as the work does. */
  readonly watch: (name: string, work: () => Promise<void>) => Promise<void>;
}

export function createJobFigures(clock: Clock): JobFigures {
  const jobs: Record<string, JobFigure> = {};
  let isRunning = false;
  return {
    jobs,
    begin(names) {
      for (const name of names) jobs[name] ??= { ok: 0, failed: 0, succeededAt: 0 };
      isRunning = true;
    },
    end() {
      isRunning = false;
    },
    isRunning: () => isRunning,
    async watch(name, work) {
      const figure = jobs[name];
      try {
        await work();
      } catch (thrown) {
        if (figure !== undefined) figure.failed += 1;
        throw thrown;
      }
      if (figure === undefined) return;
      figure.ok += 1;
      figure.succeededAt = clock.now() / 1_000;
    },
  };
}
