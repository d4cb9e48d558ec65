import { chmod } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Database } from "../../db/database.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { compress } from "./archive/compress.ts";
import { BackupError } from "./backup-error.ts";
import { writeFrames } from "./backup-frames.ts";
import { makeSocketPlace } from "./backup-socket.ts";
import { type BackupSource, makeBackup } from "./make-backup.ts";

/** A command that takes nothing for so long is given up; what the database has put aside for it is let go. */
const SILENCE_MS = 60_000;
const BUSY = "A backup is being made already. Run `backup` again when it is done.";

export interface BackupServerOptions {
  readonly settings: BackupSource["settings"];
  readonly database: Database;
  readonly productVersion: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface BackupServer {
  /** Breaks off what is on its way. Never rejects. */
  readonly close: () => Promise<void>;
}

/**
 * Makes backups of the embedded database for the command that asks, as only this process can open it: over a unix socket
 * in DATA_DIR, for this user alone, one at a time. PostgreSQL needs no such help.
 */
export async function serveBackups(options: BackupServerOptions): Promise<BackupServer> {
  const { settings, database, log } = options;
  if (database.kind === "postgres") return { close: () => Promise.resolve() };
  const place = await makeSocketPlace(settings.DATA_DIR);
  const sockets = new Set<Socket>();
  const running = new Set<Promise<void>>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const turn = answer(socket, options, sockets.size > 1).finally(() => {
      sockets.delete(socket);
      running.delete(turn);
    });
    running.add(turn);
  });
  try {
    await listen(server, place.path);
  } catch (thrown) {
    // The gateway can do without; the command can open the folder when it is stopped.
    log.warn({ err: thrown }, "backups cannot be asked for while the server runs");
  }
  return {
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(running);
      await place.remove();
    },
  };
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
}

/** Never rejects. */
async function answer(
  socket: Socket,
  { settings, database, productVersion, clock, log }: BackupServerOptions,
  isBusy: boolean,
): Promise<void> {
  socket.on("error", () => undefined);
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  const make = () => makeBackup({ settings, database, productVersion, now: clock.now() });
  const bytes = isBusy ? refuse() : compress(make());
  let isMade = !isBusy;
  const describe = (thrown: unknown): string => {
    isMade = false;
    const text = thrown instanceof BackupError ? thrown.message : toDatabaseError(thrown).message;
    log.warn({ cause: text }, "a backup was not made");
    return text;
  };
  try {
    await pipeline(Readable.from(writeFrames(bytes, describe), { objectMode: false }), socket);
    if (isMade) log.info("a backup was handed out");
  } catch {
    log.warn("the backup was given up: the command that asked for it is gone");
  }
}

// biome-ignore lint/correctness/useYield: it has none to give
async function* refuse(): AsyncGenerator<Buffer> {
  throw new BackupError(BUSY);
}
