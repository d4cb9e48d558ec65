import { open, readFile } from "node:fs/promises";
import { readFingerprint } from "../../access/open-installation.ts";
import { openSecret } from "../../access/secret.ts";
import type { Settings } from "../../config/settings.ts";
import type { Database } from "../../db/database.ts";
import { originalPath } from "../../knowledge/files/originals.ts";
import { holdRemoval } from "../../knowledge/files/removal-hold.ts";
import { randomBase62 } from "../../lib/id.ts";
import { type ArchiveWriter, type WrittenArchive, writeArchive } from "./archive/write-archive.ts";
import { BACKUP_FORMAT, BackupError, ENTRY, type Manifest } from "./backup-format.ts";
import { readJournalFiles, readUntil } from "./journal-files.ts";
import { type PlaceSettings, type Places, placesOf } from "./restore/places.ts";
import type { TableDescription } from "./snapshot/describe-tables.ts";
import { openSnapshot } from "./snapshot/open-snapshot.ts";
import type { Row } from "./snapshot/row-cursor.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";

/** Rows are joined until a part has this many bytes, which a restore inserts at once. */
const PART_BYTES = 1024 * 1024;
/** The table whose rows name the contents in FILES_DIR. */
const FILES_TABLE = "files";

export interface BackupSource {
  readonly settings: PlaceSettings & Pick<Settings, "APP_SECRET">;
  readonly database: Pick<Database, "db" | "kind">;
  /** The version of the package. */
  readonly productVersion: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Returns the whole installation as the bytes of an archive. The journals are read first, the database after them, and
 * then the contents of the files that it names. Usage that a flush moves in the meantime is in one or in both, and rows are inserted once by their id. Memory does
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
  // A database without a gateway has none; the snapshot refuses it.
  const known = await readFingerprint(database).catch(() => undefined);
  const secret = await addFiles(archive, places, { given: settings.APP_SECRET, known });
  // Without it, or without a folder yet, a file that is deleted now makes the backup fail, which can be repeated.
  const hold = await holdRemoval(places.files).catch(() => undefined);
  try {
    const { originals, ...content } = await addTables(archive, database, secret);
    for (const original of originals) await addOriginal(archive, places.files, original);
    const manifest: Manifest = {
      id: `bak_${randomBase62(22)}`,
      productVersion,
      createdAt: new Date(now).toISOString(),
      secret,
      ...content,
      entries: [...archive.sums],
    };
    await archive.add(ENTRY.manifest, json(manifest));
  } finally {
    await hold?.end();
  }
}

type StoredContent = Pick<
  Manifest,
  "database" | "tables" | "partitions" | "datasets" | "sequences"
> & {
  /** The SHA-256 and the size of the files' contents. */
  readonly originals: ReadonlyMap<string, number>;
};

async function addTables(
  archive: ArchiveWriter,
  database: BackupSource["database"],
  secret: Manifest["secret"],
): Promise<StoredContent> {
  const snapshot = await openSnapshot(database);
  try {
    await refuseOtherSecret(database, secret);
    const { partitions, datasets, sequences, migration } = snapshot;
    const tables: Manifest["tables"] = [];
    const originals = new Map<string, number>();
    for (const table of snapshot.tables) {
      const onRow = table.name === FILES_TABLE ? originalReader(table, originals) : undefined;
      tables.push(await addTable(archive, snapshot, table, onRow));
    }
    return {
      database: { kind: database.kind, migration },
      tables,
      partitions: [...partitions],
      datasets: [...datasets],
      sequences: [...sequences],
      originals,
    };
  } finally {
    await snapshot.close();
  }
}

/** Returns a function that notes the content of each file. */
function originalReader({ columns }: TableDescription, originals: Map<string, number>) {
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  const [sha256, bytes] = [at("sha256"), at("bytes")];
  return (row: Row) => void originals.set(row[sha256] ?? "", Number(row[bytes]));
}

async function addOriginal(
  archive: ArchiveWriter,
  folder: string,
  [sha256, bytes]: readonly [string, number],
): Promise<void> {
  const path = originalPath(folder, sha256);
  const file = await open(path).catch((thrown: unknown) => {
    throw lostOriginal(path, "missing", thrown);
  });
  try {
    if ((await file.stat()).size !== bytes) throw lostOriginal(path, "not whole");
    await archive.addStream(`${ENTRY.originals}${sha256}`, bytes, readUntil(file, bytes));
  } finally {
    await file.close();
  }
  if (archive.sums.at(-1)?.sha256 !== sha256) throw lostOriginal(path, "damaged");
}

function lostOriginal(path: string, state: string, cause?: unknown): BackupError {
  return new BackupError(
    `${path}, the content of an uploaded file, is ${state}. Give this command the FILES_DIR of the server, put the ` +
      "content back from another backup, or delete the file by DELETE /v1/files/{id}.",
    { cause },
  );
}

/** Adds the files that exist, and describes the secret. */
async function addFiles(
  archive: ArchiveWriter,
  places: Places,
  { given, known }: { readonly given: string | undefined; readonly known: string | undefined },
): Promise<Manifest["secret"]> {
  const secret = given === undefined ? await readIfThere(places.secret) : undefined;
  const text = given ?? secret?.toString("utf8").trim();
  if (text === undefined) {
    throw new BackupError(
      `${places.secret} is missing, and without it no key of a backup would work. Give this command the DATA_DIR or ` +
        "the APP_SECRET of the server.",
    );
  }
  const settings = { APP_SECRET: text, DATA_DIR: places.dataFolder };
  const { fingerprint } = await openSecret(settings, known);
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
  const known = await readFingerprint({ db });
  if (known === undefined || known === fingerprint) return;
  throw new BackupError(
    "The secret is not the one that this database was set up with, so no key of a backup would work. Give this command " +
      "the DATA_DIR or the APP_SECRET of the server.",
  );
}

async function addTable(
  archive: ArchiveWriter,
  snapshot: Snapshot,
  table: TableDescription,
  onRow?: (row: Row) => void,
): Promise<Manifest["tables"][number]> {
  let rows = 0;
  let part = 0;
  for await (const lines of joinRows(snapshot.rows(table), onRow)) {
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
  onRow: (row: Row) => void = () => undefined,
): AsyncGenerator<{ readonly rows: number; readonly bytes: Buffer }> {
  let text = "";
  let rows = 0;
  for await (const batch of batches) {
    for (const row of batch) {
      onRow(row);
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
