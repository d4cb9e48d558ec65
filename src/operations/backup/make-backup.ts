import { readFile } from "node:fs/promises";
import { sql } from "drizzle-orm";
import { openSecret } from "../../access/secret.ts";
import type { Settings } from "../../config/settings.ts";
import type { Database } from "../../db/database.ts";
import { randomBase62 } from "../../lib/id.ts";
import { type ArchiveWriter, type WrittenArchive, writeArchive } from "./archive/write-archive.ts";
import { BACKUP_FORMAT, BackupError, ENTRY, type Manifest } from "./backup-format.ts";
import { readJournalFiles } from "./journal-files.ts";
import { type PlaceSettings, type Places, placesOf } from "./restore/places.ts";
import type { TableDescription } from "./snapshot/describe-tables.ts";
import { openSnapshot } from "./snapshot/open-snapshot.ts";
import type { Row } from "./snapshot/row-cursor.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";

/** Rows are joined until a part has this many bytes, which a restore inserts at once. */
const PART_BYTES = 1024 * 1024;

export interface BackupSource {
  readonly settings: PlaceSettings & Pick<Settings, "APP_SECRET">;
  readonly database: Pick<Database, "db" | "kind">;
  /** The version of the package. */
  readonly productVersion: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Returns the whole installation as the bytes of an archive. The journals are read first and the database after them.
 * Usage that a flush moves in the meantime is in one or in both, and rows are inserted once by their id. Memory does
 * not grow with the database. Reading the bytes throws a BackupError.
 */
export function makeBackup(source: BackupSource): WrittenArchive {
  return writeArchive(source.now, (archive) => addAll(archive, source));
}

async function addAll(archive: ArchiveWriter, source: BackupSource): Promise<void> {
  const { settings, database, productVersion, now } = source;
  const places = placesOf(settings);
  await archive.add(ENTRY.format, json(BACKUP_FORMAT));
  for await (const { path, sizeBytes, content } of readJournalFiles(places.journals)) {
    await archive.addStream(`${ENTRY.journal}${path}`, sizeBytes, content);
  }
  const secret = await addFiles(archive, places, settings.APP_SECRET);
  const snapshot = await openSnapshot(database);
  try {
    await refuseOtherSecret(database, secret);
    const { partitions, sequences, migration } = snapshot;
    const tables: Manifest["tables"] = [];
    for (const table of snapshot.tables) tables.push(await addTable(archive, snapshot, table));
    const manifest: Manifest = {
      id: `bak_${randomBase62(22)}`,
      productVersion,
      createdAt: new Date(now).toISOString(),
      database: { kind: database.kind, migration },
      secret,
      tables,
      partitions: [...partitions],
      sequences: [...sequences],
      entries: [...archive.sums],
    };
    await archive.add(ENTRY.manifest, json(manifest));
  } finally {
    await snapshot.close();
  }
}

/** Adds the files that exist, and describes the secret. */
async function addFiles(
  archive: ArchiveWriter,
  places: Places,
  given: string | undefined,
): Promise<Manifest["secret"]> {
  const secret = given === undefined ? await readIfThere(places.secret) : undefined;
  const text = given ?? secret?.toString("utf8").trim();
  if (text === undefined) {
    throw new BackupError(
      `${places.secret} is missing, and without it no key of a backup would work. Give this command the DATA_DIR or ` +
        "the APP_SECRET of the server.",
    );
  }
  const { fingerprint } = await openSecret({ APP_SECRET: text, DATA_DIR: places.dataFolder });
  const files = [
    [ENTRY.secret, secret],
    [ENTRY.license, await readIfThere(places.license)],
    [ENTRY.seenTime, await readIfThere(places.seenTime)],
  ] as const;
  for (const [path, bytes] of files) if (bytes !== undefined) await archive.add(path, bytes);
  return { keptIn: secret === undefined ? "environment" : "file", fingerprint };
}

async function refuseOtherSecret(
  { db }: Pick<Database, "db">,
  { fingerprint }: Manifest["secret"],
): Promise<void> {
  const [row] = await db.execute<{ fingerprint: string }>(
    sql`select secret_fingerprint as fingerprint from installation`,
  );
  if (row === undefined || row.fingerprint === fingerprint) return;
  throw new BackupError(
    "The secret is not the one that this database was set up with, so no key of a backup would work. Give this command " +
      "the DATA_DIR or the APP_SECRET of the server.",
  );
}

async function addTable(
  archive: ArchiveWriter,
  snapshot: Snapshot,
  table: TableDescription,
): Promise<Manifest["tables"][number]> {
  let rows = 0;
  let part = 0;
  for await (const lines of joinRows(snapshot.rows(table))) {
    rows += lines.rows;
    part += 1;
    const name = `${String(part).padStart(6, "0")}.jsonl`;
    await archive.add(`${ENTRY.tables}${table.name}/${name}`, lines.bytes);
  }
  return { name: table.name, columns: table.columns.map(({ name }) => name), rows };
}

/** Joins rows as lines, many at a time. */
async function* joinRows(
  batches: AsyncIterable<readonly Row[]>,
): AsyncGenerator<{ readonly rows: number; readonly bytes: Buffer }> {
  let text = "";
  let rows = 0;
  for await (const batch of batches) {
    for (const row of batch) {
      text += `${JSON.stringify(row)}\n`;
      rows += 1;
      if (text.length < PART_BYTES) continue;
      yield { rows, bytes: Buffer.from(text) };
      text = "";
      rows = 0;
    }
  }
  if (rows > 0) yield { rows, bytes: Buffer.from(text) };
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  }
}

function json(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value, undefined, 1)}\n`);
}
