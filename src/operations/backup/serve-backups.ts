import { chmod } from "node:fs/promises";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Settings } from "../../config/settings.ts";
import type { Database } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { makeSocketPlace } from "./backup-socket.ts";
import { type Backups, backupFailure, type RunningBackup } from "./open-backups.ts";

/** A command that reads nothing for this long is disconnected, which releases what the database holds for it. */
const SILENCE_MS = 60_000;
const BUSY = "A backup is being made already. Run `backup` again when it is done.";

export interface BackupServerOptions {
  readonly settings: Pick<Settings, "DATA_DIR">;
  readonly database: Pick<Database, "kind">;
  readonly backups: Backups;
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
  const { settings, database, backups, log } = options;
  if (database.kind === "postgres") return { close: backups.close };
  const place = await makeSocketPlace(settings.DATA_DIR);
  let open: { readonly response: ServerResponse; readonly turn: Promise<void> } | undefined;
  const server = createServer((request, response) => {
    const command = options.commands?.[request.url ?? ""];
    if (command !== undefined) return command(request, response);
    const begun = backups.begin();
    if (begun === undefined) {
      response.writeHead(409, { "content-type": "text/plain; charset=utf-8" }).end(BUSY);
      return undefined;
    }
    const turn = answer(response, begun, silenceMs).finally(() => {
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
      await backups.close();
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
  begun: Promise<RunningBackup>,
  silenceMs: number,
): Promise<void> {
  try {
    const backup = await begun;
    // Before its first byte there is nothing that the command could read.
    response.setTimeout(silenceMs, () => response.destroy());
    response.setHeader("content-type", "application/gzip");
    await pipeline(backup.bytes, response).catch(() => undefined);
    await backup.close();
  } catch (thrown) {
    // Nothing was sent yet, so the command receives the reason.
    const head = { "content-type": "text/plain; charset=utf-8" };
    response.writeHead(500, head).end(backupFailure(thrown));
  }
}
