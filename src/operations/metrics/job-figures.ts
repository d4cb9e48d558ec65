import { byLabel, eachWith, type Metric, single } from "../../core/metric.ts";
import type { Job } from "../../core/part.ts";
import type { Clock } from "../../lib/time/clock.ts";

/** The runs of one background job since the start. */
interface JobFigure {
  ok: number;
  failed: number;
  /** Unix seconds of its last success; 0 before the first. */
  succeededAt: number;
}

/** The runs of the background jobs of this process. */
export interface JobFigures {
  readonly metrics: readonly Metric[];
  readonly runs: Readonly<Record<string, JobFigure>>;
  /** Starts to expect that each job runs again after its pause. */
  readonly begin: (jobs: readonly TimedJob[]) => void;
  readonly end: () => void;
  /** False before `begin`, after `end`, while a job takes too long or does not start again, and while others are late. */
  readonly isOnTime: () => boolean;
  /** Runs a job once, and counts its result. Rejects as the work does. */
  readonly watch: (name: string, work: () => Promise<void>) => Promise<void>;
}

type TimedJob = Pick<Job, "name" | "pauseMs" | "longestMs">;

/** A job is overdue when it has not ended for this many of its pauses, */
const OVERDUE_PAUSES = 3;
/** and for this long where it says nothing else: some jobs wait for a slow database, or have much to do. */
const OVERDUE_LEAST_MS = 900_000;

/**
 * @param elapsedMs of a monotonic clock.
 * @param areOthersOnTime asks for work that is no job.
 */
export function createJobFigures(
  clock: Clock,
  elapsedMs: () => number = () => performance.now(),
  areOthersOnTime: () => boolean = () => true,
): JobFigures {
  const runs: Record<string, JobFigure> = {};
  /** The deadline by which each job must have ended again. */
  const deadlines = new Map<string, number>();
  /** How long after its last end each job must have ended again. */
  const allowedMs = new Map<string, number>();
  const setDeadline = (name: string) =>
    deadlines.set(name, elapsedMs() + (allowedMs.get(name) ?? OVERDUE_LEAST_MS));
  const isOnTime = (): boolean => {
    const now = elapsedMs();
    const areJobsOnTime = [...deadlines.values()].every((deadline) => now < deadline);
    return deadlines.size > 0 && areJobsOnTime && areOthersOnTime();
  };
  return {
    runs,
    metrics: jobMetrics(runs, isOnTime),
    begin(jobs) {
      for (const { name, pauseMs, longestMs = OVERDUE_LEAST_MS } of jobs) {
        allowedMs.set(name, Math.max(OVERDUE_PAUSES * pauseMs, longestMs));
        runs[name] ??= { ok: 0, failed: 0, succeededAt: 0 };
        setDeadline(name);
      }
    },
    end() {
      deadlines.clear();
    },
    isOnTime,
    async watch(name, work) {
      const figure = runs[name];
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

function jobMetrics(
  runs: Readonly<Record<string, JobFigure>>,
  isOnTime: () => boolean,
): readonly Metric[] {
  return [
    {
      name: "svc_scheduler_up",
      type: "gauge",
      help: "1 while this process does its background jobs and looks at schedules on time; 0 when one of them hangs, and without the database (svc_database_up 0), where no restart helps.",
      labels: [],
      read: () => single(isOnTime()),
    },
    // The label is not `job`, because scrapers add a label of that name to every line.
    {
      name: "svc_job_runs_total",
      type: "counter",
      help: "Runs of background jobs by how they ended.",
      labels: ["task", "outcome"],
      read: () => eachWith("task", runs, ({ ok, failed }) => byLabel("outcome", { ok, failed })),
    },
    {
      name: "svc_job_last_success_timestamp_seconds",
      type: "gauge",
      help: "When a background job last ended well, in Unix time; 0 before the first time.",
      labels: ["task"],
      read: () => eachWith("task", runs, ({ succeededAt }) => single(succeededAt)),
    },
  ];
}
