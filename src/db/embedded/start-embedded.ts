import { Worker } from "node:worker_threads";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import { openRefusal } from "./check-embedded-folder.ts";

/** The time limit of a start. The first one may have to create the database. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
/** The system denied PostgreSQL a file, so the database itself may be intact. */
const SYSTEM_REFUSAL =
  /No space left|Disk quota|Permission denied|Operation not permitted|Read-only|Too many open/;

export interface EmbeddedOptions {
  /** The database's folder; undefined keeps it in memory. */
  readonly folder: string | undefined;
  /** True to create the database, in a missing or empty folder. */
  readonly isNew: boolean;
  /** A prepared database to start from. If undefined or absent, one is created, which takes seconds. */
  readonly archive: string | undefined;
  readonly socketPath: string;
}

/** The only message of the thread: it serves, or it failed. */
export interface Report {
  readonly failure?: string;
  /** The failure is PostgreSQL's own text. */
  readonly isInItsWords?: boolean;
}

export interface EmbeddedServer {
  /** Resolves when the database is closed and its thread has ended. */
  readonly stop: () => Promise<void>;
  /** Ends the thread immediately, whatever it does. Committed data is safe. */
  readonly kill: () => Promise<void>;
}

/**
 * Starts the embedded database in its thread and resolves when it serves on the unix socket. `onLost` is called when
 * the thread ends later without a request.
 */
export async function startEmbedded(
  options: EmbeddedOptions,
  onLost: (cause: string) => void,
): Promise<EmbeddedServer> {
  const worker = new Worker(new URL("./embedded-worker.mjs", import.meta.url), {
    workerData: options,
    execArgv: [],
  });
  let isStopping = false;
  let cause = "its thread ended";
  worker.on("error", (error: Error) => {
    cause = error.message;
  });
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  const { failure, isInItsWords = false } = await started(
    worker,
    ended.then(() => ({ failure: cause })),
  );
  if (failure !== undefined) {
    await worker.terminate();
    const isDamage = isInItsWords && !SYSTEM_REFUSAL.test(failure);
    if (isDamage && options.folder !== undefined) throw await openRefusal(options.folder, failure);
    throw new StartRefusal(`The embedded database did not start: ${failure}`);
  }
  void ended.then(() => {
    if (!isStopping) onLost(cause);
  });
  return {
    async stop() {
      isStopping = true;
      worker.postMessage("close");
      const timer = setTimeout(() => void worker.terminate(), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    },
    async kill() {
      await worker.terminate();
    },
  };
}

async function started(worker: Worker, ended: Promise<Report>): Promise<Report> {
  let timer: NodeJS.Timeout | undefined;
  const report = await Promise.race([
    ended,
    new Promise<Report>((resolve) => worker.once("message", resolve)),
    new Promise<Report>((resolve) => {
      timer = setTimeout(
        () => resolve({ failure: `no answer within ${START_TIMEOUT_MS} ms` }),
        START_TIMEOUT_MS,
      );
    }),
  ]);
  clearTimeout(timer);
  return report;
}
