import { Worker } from "node:worker_threads";
import { StartRefusal } from "../lib/start-refusal.ts";

/** How long the first start, which may have to make the database, can take. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

export interface EmbeddedOptions {
  /** Folder of the database; undefined keeps it in memory. */
  readonly folder: string | undefined;
  /** A prepared database to begin with; undefined or absent makes one, which takes seconds. */
  readonly archive: string | undefined;
  readonly socketPath: string;
}

/** The one message of the thread: it serves, or could not. */
interface Report {
  readonly failure: string | undefined;
}

export interface EmbeddedServer {
  /** Resolves when the database is closed and its thread has ended. */
  readonly stop: () => Promise<void>;
  /** Ends the thread at once, whatever it does; what was committed is safe. */
  readonly kill: () => Promise<void>;
}

/**
 * Starts the embedded database in its thread and resolves when it serves on the unix socket.
 * `onLost` is called when the thread ends later without having been asked to.
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
  await started(
    worker,
    ended.then(() => cause),
  );
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

async function started(worker: Worker, ended: Promise<string>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failure = await Promise.race([
    ended,
    new Promise<string | undefined>((resolve) =>
      worker.once("message", (report: Report) => resolve(report.failure)),
    ),
    new Promise<string>((resolve) => {
      timer = setTimeout(
        () => resolve(`no answer within ${START_TIMEOUT_MS} ms`),
        START_TIMEOUT_MS,
      );
    }),
  ]);
  clearTimeout(timer);
  if (failure === undefined) return;
  await worker.terminate();
  throw new StartRefusal(`The embedded database did not start: ${failure}`);
}
