import { rm } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import type { CopyConfig } from "../../process/process-messages.ts";

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;

/** The database of the copy, in its thread. It does one thing at a time. */
export interface CopyThread {
  /**
   * Sends whole frontend messages and resolves to everything that the database answers. Rejects when the thread is
   * lost. The caller waits for the answer before it sends more.
   */
  readonly execute: (messages: Buffer) => Promise<Buffer>;
  /** Ends the thread and deletes the folder. */
  readonly destroy: () => Promise<void>;
  readonly close: () => Promise<void>;
}

type Report = Uint8Array | { readonly failure?: string };

/** Starts the thread: the database in the folder of the configuration, or a new one where none opens. */
export async function startCopyThread(config: CopyConfig): Promise<CopyThread> {
  const worker = new Worker(new URL("./copy-worker.mjs", import.meta.url), {
    workerData: config,
    execArgv: [],
  });
  let cause: Error | undefined;
  let waiting: PromiseWithResolvers | undefined;
  const lose = (error: Error): void => {
    cause ??= error;
    waiting?.reject(cause);
    waiting = undefined;
  };
  const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on("error", lose);
  void ended.then(() => lose(new Error("The thread of the embedded copy has ended.")));
  worker.on("message", (report: Report) => {
    const asked = waiting;
    waiting = undefined;
    if (report instanceof Uint8Array) {
      asked?.resolve(Buffer.from(report.buffer, report.byteOffset, report.byteLength));
    } else if (report.failure === undefined) asked?.resolve(Buffer.alloc(0));
    else asked?.reject(new Error(`The embedded copy failed: ${report.failure}`));
  });
  const answer = (): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      if (cause !== undefined) reject(cause);
      else waiting = { resolve, reject };
    });
  const end = async (): Promise<void> => {
    await worker.terminate();
    await ended;
  };
  const timer = setTimeout(
    () => lose(new Error("The embedded copy did not open.")),
    START_TIMEOUT_MS,
  );
  await answer()
    .catch(async (thrown: unknown) => {
      await end();
      throw thrown;
    })
    .finally(() => clearTimeout(timer));
  return {
    execute(messages) {
      if (waiting !== undefined) throw new Error("The embedded copy was asked twice at once.");
      const answered = answer();
      worker.postMessage(messages);
      return answered;
    },
    async destroy() {
      await end();
      if (config.folder !== null) await rm(config.folder, { recursive: true, force: true });
    },
    async close() {
      const limit = setTimeout(() => void worker.terminate(), STOP_TIMEOUT_MS);
      worker.postMessage("close");
      await ended.finally(() => clearTimeout(limit));
    },
  };
}

interface PromiseWithResolvers {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
}
