import type { Log } from "../../lib/log.ts";
import type { EmbeddedServer } from "./start-embedded.ts";

const RESTART_PAUSE_MS = 500;

export interface RunningThread {
  /** Kills the thread and starts a new one. */
  readonly replace: (cause: string) => void;
  readonly stop: () => Promise<void>;
}

/** Starts the database's thread and restarts it whenever it is lost. Queries fail in the meantime. */
export async function keepRunning(
  start: (onLost: (cause: string) => void) => Promise<EmbeddedServer>,
  log: Log,
): Promise<RunningThread> {
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;

  const startAgain = (cause: string): void => {
    if (isStopping) return;
    log.error({ cause }, "the embedded database is lost, starting it again");
    timer = setTimeout(() => {
      current = start(startAgain);
      current.catch((thrown: unknown) => startAgain(String(thrown)));
    }, RESTART_PAUSE_MS);
  };

  let current = start(startAgain);
  await current;
  return {
    replace(cause) {
      log.error({ cause }, "the embedded database hangs, its thread is replaced");
      void current.then(
        (server) => server.kill(),
        () => undefined,
      );
    },
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await current.then(
        (server) => server.stop(),
        () => undefined,
      );
    },
  };
}
