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
  /** The jobs are done on time from now on, each again after its pause in milliseconds. */
  readonly begin: (pausesMs: Readonly<Record<string, number>>) => void;
  readonly end: () => void;
  /** False before the beginning, after the end, and while a job hangs or is begun no more. */
  readonly isOnTime: () => boolean;
  /** Does one run of a job, and counts how it ended. Rejects as the work does. */
  readonly watch: (name: string, work: () => Promise<void>) => Promise<void>;
}

/** A job is overdue when it has not ended for so many of its pauses, */
const OVERDUE_PAUSES = 3;
/** and for so long: some wait for a slow database, or have much to do. */
const OVERDUE_LEAST_MS = 900_000;

/** @param elapsedMs of a clock that is never set. */
export function createJobFigures(
  clock: Clock,
  elapsedMs: () => number = () => performance.now(),
): JobFigures {
  const jobs: Record<string, JobFigure> = {};
  /** By which moment a job has to have ended once more. */
  const deadlines = new Map<string, number>();
  let pauses: Readonly<Record<string, number>> = {};
  const setDeadline = (name: string) => {
    const pauseMs = pauses[name] ?? 0;
    deadlines.set(name, elapsedMs() + Math.max(OVERDUE_PAUSES * pauseMs, OVERDUE_LEAST_MS));
  };
  return {
    jobs,
    begin(pausesMs) {
      pauses = pausesMs;
      for (const name of Object.keys(pausesMs)) {
        jobs[name] ??= { ok: 0, failed: 0, succeededAt: 0 };
        setDeadline(name);
      }
    },
    end() {
      pauses = {};
      deadlines.clear();
    },
    isOnTime() {
      const now = elapsedMs();
      return deadlines.size > 0 && [...deadlines.values()].every((deadline) => now < deadline);
    },
    async watch(name, work) {
      const figure = jobs[name];
      try {
        await work();
      } catch (thrown) {
        if (figure !== undefined) figure.failed += 1;
        throw thrown;
      } finally {
        if (deadlines.has(name)) setDeadline(name);
      }
      if (figure === undefined) return;
      figure.ok += 1;
      figure.succeededAt = clock.now() / 1_000;
    },
  };
}
