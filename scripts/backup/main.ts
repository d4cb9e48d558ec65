// Writes a backup of this installation, even while its server runs: `bun run backup [file]`.
import { resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config/load-config.ts";
import type { Settings } from "../../src/config/settings.ts";
import { exitCodeOf, StopRequests } from "../../src/lib/process/stop-requests.ts";
import { BackupError } from "../../src/operations/backup/backup-format.ts";
import { createBackup } from "../../src/operations/backup/create-backup.ts";
import { openClock } from "../../src/operations/open-clock.ts";
import { createProgress, megabytes } from "./progress.ts";
import { commandLog, fileArgument, runCommand } from "./run-command.ts";

const USAGE = `Usage:
  backup [file]
      Writes everything of this installation into one new file: the database, the uploaded files, the secret, the
      license and usage that is not in the database yet. Not in it: WORKSPACE_DIR, the folders of WATCH_DIRS, .env and
      the files that settings name. The server may run. Default: DATA_DIR/backups/inference-gateway-<UTC time>.tar.gz.
      Prints the file's path. Settings are read as the server reads them. \`restore\` restores the file.`;

await runCommand(USAGE, async (args) => {
  const file = fileArgument(args);
  const { settings } = loadConfig();
  const log = commandLog();
  const clock = openClock(settings, log);
  const progress = createProgress("backup");
  const written = await createBackup({
    ...{ settings, file, log, now: clock.now(), productVersion: packageJson.version },
    signal: brokenOff(),
    onWritten: (bytes) => progress.say(() => `${megabytes(bytes)} written`),
  });
  await clock.close();
  const rows = written.manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  const secret = written.manifest.secret.keptIn;
  progress.end(`backed up ${sourceOf(settings)}`);
  progress.end(`${rows} rows, ${megabytes(written.sizeBytes)}, verified by reading it back`);
  if (secret === "environment") {
    progress.end("APP_SECRET is not part of it: keep its value elsewhere, a restore needs it");
  }
  process.stdout.write(`${written.file}\n`);
});

/** Describes what was backed up, without the user and the password of an address. */
function sourceOf({ DATA_DIR, DATABASE_URL }: Pick<Settings, "DATA_DIR" | "DATABASE_URL">): string {
  const folder = `the folder ${resolve(DATA_DIR)} (DATA_DIR)`;
  if (DATABASE_URL === undefined) return `${folder} with its embedded database`;
  const { host, pathname } = new URL(DATABASE_URL);
  return `${folder} and the PostgreSQL database ${pathname.slice(1)} at ${host} (DATABASE_URL)`;
}

/** Returns a signal that the first stop request aborts. The second one ends the process immediately. */
function brokenOff(): AbortSignal {
  const controller = new AbortController();
  new StopRequests((signal, isFirst) => {
    if (!isFirst) process.exit(exitCodeOf(signal));
    controller.abort(new BackupError("The backup was cancelled; no file is left."));
  });
  return controller.signal;
}
