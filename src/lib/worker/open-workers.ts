import { Turns } from "./turns.ts";
import { WorkFailure } from "./work-failure.ts";
import { type JobLimits, WorkerProcess, type WorkerProgram } from "./worker-process.ts";

/** More waiting jobs than this are refused. */
const WAITING_MAX = 1_000;

export interface WorkersOptions extends WorkerProgram {
  /** Processes at most; each does one job at a time. */
  readonly processes: number;
  /** A process without work ends after this time. */
  readonly idleMs: number;
}

export interface WorkersLimits extends JobLimits {
  /**
   * Whose job it is. One group has at most all processes but one, if there are several, and waiting groups take turns.
   * Jobs without a group are only bounded by the number of processes.
   */
  readonly group?: string | undefined;
}

/** Processes for work that may run wild. They start with the first jobs and are used again. */
export interface Workers {
  /**
   * Runs a job (any JSON) and yields its results as they come; waits for a free process. A consumer that is slow slows
   * the work, one that stops early kills it. Throws a `WorkFailure`, or the signal's reason.
   */
  readonly run: (job: unknown, limits: WorkersLimits) => AsyncGenerator<unknown, void>;
  /** Kills all processes; jobs in progress and later ones fail with the reason `closed`. */
  readonly close: () => void;
}

export function openWorkers({ processes, idleMs, ...program }: WorkersOptions): Workers {
  const all = new Set<WorkerProcess>();
  const idle: { worker: WorkerProcess; timer: NodeJS.Timeout }[] = [];
  const turns = new Turns(processes);
  let isClosed = false;

  const take = (): WorkerProcess => {
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      clearTimeout(next.timer);
      if (next.worker.isUsable) return next.worker;
      all.delete(next.worker);
    }
    const worker = new WorkerProcess(program);
    all.add(worker);
    return worker;
  };
  const giveBack = (worker: WorkerProcess): void => {
    if (!worker.isUsable) {
      all.delete(worker);
      return;
    }
    const end = () => {
      worker.close();
      idle.splice(
        idle.findIndex((entry) => entry.worker === worker),
        1,
      );
      all.delete(worker);
    };
    idle.push({ worker, timer: setTimeout(end, idleMs).unref() });
  };
  const enter = async (group: string | undefined, signal: AbortSignal): Promise<void> => {
    if (!turns.isFree(group) && turns.waiting >= WAITING_MAX)
      throw new WorkFailure("failed", "Too many jobs wait for a worker process.");
    await turns.enter(group, signal);
  };

  return {
    async *run(job, limits) {
      limits.signal.throwIfAborted();
      await enter(limits.group, limits.signal);
      try {
        if (isClosed) throw new WorkFailure("closed", "The worker processes are closed.");
        const worker = take();
        try {
          yield* worker.run(job, limits);
        } finally {
          giveBack(worker);
        }
      } finally {
        turns.leave(limits.group);
      }
    },
    close() {
      isClosed = true;
      for (const { timer } of idle.splice(0)) clearTimeout(timer);
      for (const worker of all) worker.close();
      all.clear();
    },
  };
}
