import { BackupError, ENTRY, type Manifest } from "./backup-format.ts";
import { isJournalPath } from "./journal-files.ts";
import { type ReadBackupOptions, readBackup } from "./read-backup.ts";

const NEWLINE = 0x0a;
const FILES: readonly string[] = [ENTRY.secret, ENTRY.license, ENTRY.seenTime];

/**
 * Reads a whole backup and changes nothing. Returns its manifest; throws a BackupError when an entry differs from the
 * manifest, or does not belong in a backup.
 */
export async function checkBackup({
  file,
  onRead,
}: Pick<ReadBackupOptions, "file" | "onRead">): Promise<Manifest> {
  const rows = new Map<string, number>();
  const manifest = await readBackup({
    file,
    onRead,
    async visit({ path, content }) {
      const table = tableOf(path);
      if (table === undefined) return refuseUnknown(path);
      let count = rows.get(table) ?? 0;
      for await (const part of content) count += countLines(part);
      rows.set(table, count);
    },
  });
  const areWhole = manifest.entries.every(
    ({ path, sha256 }) => (originalOf(path) ?? sha256) === sha256,
  );
  if (!areWhole)
    throw new BackupError("The backup is damaged: a file is not what it was. Use another one.");
  const tables = new Map(manifest.tables.map((table) => [table.name, table.rows]));
  const areCounted = manifest.tables.every(
    ({ name, rows: told }) => (rows.get(name) ?? 0) === told,
  );
  if (areCounted && [...rows.keys()].every((name) => tables.has(name))) return manifest;
  throw new BackupError("The backup is damaged: rows are missing. Use another one.");
}

/** Returns the table whose rows an entry holds; undefined for other entries. */
export function tableOf(path: string): string | undefined {
  return /^tables\/([^/]+)\/\d+\.jsonl$/.exec(path)?.[1];
}

/** Returns the SHA-256 of the file's content that an entry holds; undefined for other entries. */
export function originalOf(path: string): string | undefined {
  return /^originals\/([0-9a-f]{64})$/.exec(path)?.[1];
}

/**
 * Refuses unknown entries: a path becomes a file's name when it is restored, so only names that a backup makes are
 * accepted.
 */
function refuseUnknown(path: string): void {
  if (originalOf(path) !== undefined) return;
  const inJournals = path.startsWith(ENTRY.journal) && path.slice(ENTRY.journal.length);
  if (FILES.includes(path) || (inJournals && isJournalPath(inJournals))) return;
  throw new BackupError(
    "The backup holds a part that this release does not know. Restore it with the release that made it.",
  );
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
