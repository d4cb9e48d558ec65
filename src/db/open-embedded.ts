import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { connect } from "./connect.ts";
import type { Database } from "./database.ts";
import { type EmbeddedServer, startEmbedded } from "./start-embedded.ts";

/** Systems cut a socket's path at 104 or 108 bytes. */
const SOCKET_PATH_MAX_BYTES = 100;
const RESTART_DELAY_MS = 500;

export interface OpenEmbeddedOptions {
  /** Folder that holds the database's folder; undefined keeps the database in memory. */
  readonly dataFolder: string | undefined;
  /** File of a prepared database to begin with; may be absent. */
  readonly archive: string | undefined;
  /** DB_POOL_WAIT_MS. */
  readonly waitMs: number;
  readonly log: Log;
}

/** PostgreSQL in a thread of this process, reached over a private unix socket. The caller holds the folder's lock. */
export async function openEmbedded(options: OpenEmbeddedOptions): Promise<Database> {
  const { dataFolder, archive, waitMs, log } = options;
  const socketFolder = await makeSocketFolder(dataFolder);
  const socketPath = join(socketFolder, "socket");
  const folder = dataFolder === undefined ? undefined : join(dataFolder, "database");
  const thread = await keepRunning(async (onLost) => {
    await rm(socketPath, { force: true });
    return startEmbedded({ folder, archive, socketPath }, onLost);
  }, log);
  const database = connect({
    kind: "embedded",
    waitMs,
    // One session is all there is; a second connection would only queue behind it.
    driver: {
      path: socketPath,
      max: 1,
      max_lifetime: null,
      user: "postgres",
      database: "postgres",
    },
  });
  return {
    ...database,
    async close() {
      await database.close();
      await thread.stop();
      await rm(socketFolder, { recursive: true, force: true });
    },
  };
}

/** A folder that only this user enters: the socket asks for no password. */
async function makeSocketFolder(dataFolder: string | undefined): Promise<string> {
  const wanted = dataFolder === undefined ? undefined : join(dataFolder, "database-socket");
  if (wanted === undefined || Buffer.byteLength(join(wanted, "socket")) > SOCKET_PATH_MAX_BYTES) {
    return mkdtemp(join(tmpdir(), "inference-gateway-"));
  }
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  await chmod(wanted, 0o700);
  return wanted;
}

/** Starts the thread, and starts it again whenever it is lost; queries fail meanwhile. */
async function keepRunning(
  start: (onLost: (cause: string) => void) => Promise<EmbeddedServer>,
  log: Log,
): Promise<{ readonly stop: () => Promise<void> }> {
  let isStopping = false;
  let timer: NodeJS.Timeout | undefined;

  const startAgain = (cause: string): void => {
    if (isStopping) return;
    log.error({ cause }, "the embedded database is lost, starting it again");
    timer = setTimeout(() => {
      current = start(startAgain);
      current.catch((thrown: unknown) => startAgain(String(thrown)));
    }, RESTART_DELAY_MS);
  };

  let current = start(startAgain);
  await current;
  return {
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
