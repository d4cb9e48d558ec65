import { chmod } from "node:fs/promises";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Database } from "../../db/database.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { BackupError } from "./backup-format.ts";
import { makeSocketPlace } from "./backup-socket.ts";
import { type BackupSource, makeBackup } from "./make-backup.ts";

/** A command that reads nothing for this long is disconnected, which releases what the database holds for it. */
const SILENCE_MS = 60_000;
const BUSY = "A backup is being made already. Run `backup` again when it is done.";

export interface BackupServerOptions {
  readonly settings: BackupSource["settings"];
  readonly database: Database;
  readonly productVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Other commands that only this process can run, by path. */
  readonly commands?: Readonly<Record<string, RequestListener>>;
}

export interface BackupServer {
  /** Aborts a backup in progress. Never rejects. */
  readonly close: () => Promise<void>;
}

/**
 * Makes backups of the embedded database for the command, because only this process can open it. Served by HTTP over a
 * unix socket in DATA_DIR, only for this user, one at a time. An aborted answer lacks its last chunk. PostgreSQL does
 * not need this.
 */
export async function serveBackups(
  options: BackupServerOptions,
  silenceMs = SILENCE_MS,
): Promise<BackupServer> {
  const { settings, database, log } = options;
  if (database.kind === "postgres") return { close: () => Promise.resolve() };
  const place = await makeSocketPlace(settings.DATA_DIR);
  let open: { readonly response: ServerResponse; readonly turn: Promise<void> } | undefined;
  const server = createServer((request, response) => {
    const command = options.commands?.[request.url ?? ""];
    if (command !== undefined) return command(request, response);
    if (open !== undefined) {
      response.writeHead(409, { "content-type": "text/plain; charset=utf-8" }).end(BUSY);
      return undefined;
    }
    response.setTimeout(silenceMs, () => response.destroy());
    const turn = answer(response, options).finally(() => {
      open = undefined;
    });
    open = { response, turn };
    return undefined;
  });
  try {
    await listen(server, place.path);
  } catch (thrown) {
    // The gateway works without it; the command can open the folder when the gateway is stopped.
    log.warn({ err: thrown }, "backups cannot be made while the server runs");
  }
  return {
    async close() {
      server.close();
      open?.response.destroy();
      await open?.turn;
      server.closeAllConnections();
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
  response: ServerResponse,
  { settings, database, productVersion, clock, log }: BackupServerOptions,
): Promise<void> {
  response.setHeader("content-type", "application/gzip");
  const backup = makeBackup({ settings, database, productVersion, now: clock.now() });
  let isRead = false;
  let failure: unknown;
  const bytes = (async function* () {
    try {
      yield* backup.bytes;
      isRead = true;
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    }
  })();
  // The status can still be set before the first byte, so the command receives the reason.
  const first = await bytes.next().catch(() => undefined);
  if (first === undefined) {
    const head = { "content-type": "text/plain; charset=utf-8" };
    response.writeHead(500, head).end(textOf(failure));
  } else {
    const all = async function* () {
      if (first.done !== true) yield first.value;
      yield* bytes;
    };
    await pipeline(all, response).catch(() => undefined);
  }
  await backup.close();
  if (failure !== undefined) log.warn({ cause: textOf(failure) }, "a backup failed");
  else if (isRead) log.info("a backup was sent");
  else log.warn("the backup was cancelled: the command that requested it has ended");
}

function textOf(thrown: unknown): string {
  return thrown instanceof BackupError ? thrown.message : toDatabaseError(thrown).message;
}
