import { type IncomingMessage, request } from "node:http";
import { resolve } from "node:path";
import {
  type ResetOptions,
  type ResetPassword,
  resetPassword,
} from "../../access/sessions/passwords/reset-password.ts";
import { databaseFolder } from "../../config/folders.ts";
import type { Settings } from "../../config/settings.ts";
import { isFromDatabase, toDatabaseError } from "../../db/database-error.ts";
import { openDatabase } from "../../db/open-db.ts";
import type { Log } from "../../lib/log.ts";
import { askOrOpen } from "../ask-or-open.ts";
import { findSocket } from "../backup/backup-socket.ts";
import { isThere } from "../backup/restore/refuse-occupied.ts";
import { refuseUnfinishedRestore } from "../backup/restore/unfinished-restore.ts";
import { CommandError } from "../command-error.ts";
import { RESET_PATH } from "./serve-reset.ts";

const ANSWER_MS = 60_000;
const ANSWER_MAX_BYTES = 64 * 1024;
/** SQLSTATE of a table and of a column that do not exist. */
const OTHER_SCHEMA: ReadonlySet<string> = new Set(["42P01", "42703"]);

export interface RunResetOptions {
  readonly settings: Settings;
  readonly username: string;
  readonly clock: ResetOptions["clock"];
  readonly log: Log;
}

/**
 * Gives a user a new password, whether the server runs or not. A running server with the embedded database does it.
 * Throws a CommandError, a ServiceError or a StartRefusal, which name the remedy.
 */
export async function runReset(options: RunResetOptions): Promise<ResetPassword> {
  const { settings, username } = options;
  await refuseUnfinishedRestore(settings);
  return askOrOpen(settings, {
    ask: () => askServer(settings.DATA_DIR, username),
    open: () => resetHere(options),
    refuse: (cause) =>
      new CommandError(
        "Another process uses DATA_DIR and resets no passwords: a server that stops just now, a backup or a restore. " +
          `Run \`reset-password\` again in a moment. ${cause.message}`,
        { cause },
      ),
  });
}

async function resetHere({
  settings,
  username,
  clock,
  log,
}: RunResetOptions): Promise<ResetPassword> {
  const { DATA_DIR, DATABASE_URL } = settings;
  // Opening the folder would create a database there.
  if (DATABASE_URL === undefined && !(await isThere(databaseFolder(DATA_DIR)))) {
    throw new CommandError(
      `There are no users yet: no database is in ${resolve(DATA_DIR)}. Give this command the DATA_DIR or the ` +
        "DATABASE_URL of the server.",
    );
  }
  const database = await openDatabase(settings, log);
  try {
    return await resetPassword({ database, clock }, username);
  } catch (thrown) {
    if (!isFromDatabase(thrown) || !OTHER_SCHEMA.has(toDatabaseError(thrown).code)) throw thrown;
    throw new CommandError(
      "The database has the schema of an earlier release, or none. Start the server once, then run this again.",
      { cause: thrown },
    );
  } finally {
    await database.close();
  }
}

/** Resolves with undefined when no server runs on this DATA_DIR. */
async function askServer(dataFolder: string, username: string): Promise<ResetPassword | undefined> {
  const response = await send(await findSocket(dataFolder), username);
  if (response === undefined) return undefined;
  // A server of an earlier release answers every request with a backup.
  const type = response.headers["content-type"] ?? "";
  if (type.startsWith("text/plain")) throw new CommandError(await readText(response));
  if (type === "application/json") return JSON.parse(await readText(response)) as ResetPassword;
  response.destroy();
  throw new CommandError(
    "The running server is of an earlier release. Restart it, or stop it and run this again.",
  );
}

function send(socketPath: string, username: string): Promise<IncomingMessage | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({
      ...{ socketPath, path: RESET_PATH, method: "POST", agent: false },
      timeout: ANSWER_MS,
    });
    asked.once("response", resolve);
    asked.once("timeout", () => asked.destroy());
    asked.once("error", (thrown: NodeJS.ErrnoException) => {
      // The socket is missing, or a killed server has left it.
      if (thrown.code === "ENOENT" || thrown.code === "ECONNREFUSED") resolve(undefined);
      else {
        const message =
          "The server did not answer; it may have set a new password. See its log, and run this again.";
        reject(new CommandError(message, { cause: thrown }));
      }
    });
    asked.end(username);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += chunk.toString("utf8");
    if (text.length > ANSWER_MAX_BYTES) break;
  }
  return text;
}
