// Restores an installation from a backup, into an empty DATA_DIR and an empty database: `bun run restore FILE`.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { loadConfig } from "../../src/config/load-config.ts";
import { restoreBackup } from "../../src/operations/backup/restore/restore-backup.ts";
import { readUnfinishedRestore } from "../../src/operations/backup/restore/unfinished-restore.ts";
import { createProgress } from "../backup/progress.ts";
import { commandLog, fileArgument, runCommand, UsageError } from "../backup/run-command.ts";

const USAGE = `Usage:
  restore FILE
      Restores what \`backup\` has written into FILE into an empty DATA_DIR, FILES_DIR and JOURNAL_DIR and an empty
      database (at DATABASE_URL or embedded). It overwrites nothing. Start the server afterwards. An interrupted restore can be run again.`;

await runCommand(USAGE, async (args) => {
  const file = fileArgument(args);
  if (file === undefined) throw new UsageError("name the backup file");
  const { size } = statSync(file);
  const progress = createProgress("restore");
  const { settings } = loadConfig();
  const manifest = await restoreBackup({
    ...{ file, settings, log: commandLog() },
    onRead: (part, bytes) => progress.say(() => `${part}, ${Math.floor((100 * bytes) / size)} %`),
  }).catch(async (thrown: unknown) => {
    if ((await readUnfinishedRestore(resolve(settings.DATA_DIR))) !== undefined) {
      progress.end("not finished: no server starts here until the same restore is run again");
    }
    throw thrown;
  });
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  progress.end(`${rows} rows of ${manifest.createdAt} restored; the server can be started`);
  process.stdout.write(`${file}\n`);
});
