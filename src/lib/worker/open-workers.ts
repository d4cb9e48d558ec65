import { WorkFailure } from "./work-failure.ts";
import { type JobLimits, WorkerProcess } from "./worker-process.ts";

/** More waiting jobs than this are refused. */
const WAITING_MAX = 1_000;

export interface WorkersOptions {
  /** Path of a module that calls `serveJobs`. */
  readonly program: string;
  /** Processes at most; each does one job at a time. */
  readonly processes: number;
  /** Resident memory of one process at most. */
  readonly memoryBytes: number;
  /** A process without work ends after this time. */
  readonly idleMs: number;
}

/** Processes for work that may run wild. They start with the first jobs and are used again. */
export interface Workers {
  /**
   * Runs a job (any JSON) and yields its results as they come; waits for a free process. A consumer that is slow slows
   * the work, one that stops early kills it. Throws a `WorkFailure`, or the signal's reason.
   */
  readonly run: (job: unknown, limits: JobLimits) => AsyncGenerator<unknown, void>;
  /** Kills all processes; jobs in progress and later ones fail with the reason `closed`. */
  readonly close: () => void;
}

export function openWorkers({ program, processes, memoryBytes, idleMs }: WorkersOptions): Workers {
  const all = new Set<WorkerProcess>();
  const idle: { worker: WorkerProcess; timer: NodeJS.Timeout }[] = [];
  const waiting = new Set<() => void>();
  let busy = 0;
  let isClosed = false;

  const take = (): WorkerProcess => {
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      clearTimeout(next.timer);
      if (next.worker.isUsable) return next.worker;
      all.delete(next.worker);
    }
    const worker = new WorkerProcess(program, memoryBytes);
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
  const enter = async (signal: AbortSignal): Promise<void> => {
    if (busy < processes) busy += 1;
    else if (waiting.size < WAITING_MAX) await turn(waiting, signal);
    else throw new WorkFailure("failed", "Too many jobs wait for a worker process.");
  };
  const leave = (): void => {
    const [next] = waiting;
    if (next === undefined) busy -= 1;
    else next();
  };

  return {
    async *run(job, limits) {
      limits.signal.throwIfAborted();
      await enter(limits.signal);
      try {
        if (isClosed) throw new WorkFailure("closed", "The worker processes are closed.");
        const worker = take();
        try {
          yield* worker.run(job, limits);
        } finally {
          giveBack(worker);
        }
      } finally {
        leave();
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

/** Resolves when it is this job's turn; the place of the job that ended then belongs to it. */
function turn(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => end(resolve);
    const abort = () => end(() => reject(signal.reason));
    const end = (settle: () => void) => {
      waiting.delete(enter);
      signal.removeEventListener("abort", abort);
      settle();
    };
    waiting.add(enter);
    signal.addEventListener("abort", abort, { once: true });
  });
}
