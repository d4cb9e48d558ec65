import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openSecret } from "../../../access/secret.ts";
import type { Settings } from "../../../config/settings.ts";
import type { Db } from "../../../db/context.ts";
import type { Database } from "../../../db/database.ts";
import { openReplicaLock } from "../../../db/locks/advisory-locks.ts";
import { knownMigrations } from "../../../db/migrate.ts";
import { openDatabase } from "../../../db/open-db.ts";
import { markRestoredFolder } from "../../../knowledge/files/files-folder.ts";
import { originalPath } from "../../../knowledge/files/originals.ts";
import type { Log } from "../../../lib/log.ts";
import { awaitProcessLock } from "../../../lib/process-lock/process-lock.ts";
import { within } from "../../../lib/time/within.ts";
import { endRestoredRuns } from "../../../workflows/runs/end/end-restored-runs.ts";
import type { ArchiveEntry } from "../archive/read-archive.ts";
import { BackupError, ENTRY, type Manifest } from "../backup-format.ts";
import { checkBackup, originalOf, tableOf } from "../check-backup.ts";
import { readBackup, readWhole } from "../read-backup.ts";
import { listRelations } from "../snapshot/describe-tables.ts";
import { isHalf, removeHalf } from "./half-database.ts";
import { beginTableLoad, LOAD_STATEMENT_TIMEOUT_MS } from "./load-tables.ts";
import { placeFile } from "./place-file.ts";
import { type Places, placesOf } from "./places.ts";
import { isThere, refuseOccupiedDatabase, refuseOccupiedFolders } from "./refuse-occupied.ts";
import { limitStall, type StallLimit } from "./stall-limit.ts";
import { markUnfinished, readUnfinishedRestore, unmarkUnfinished } from "./unfinished-restore.ts";

/** The embedded database's watchdog treats longer work as hung, and the end of a restore is one transaction. */
const LOAD_TIMEOUT_MS = 24 * 3_600_000;
/** Maximum time of a statement that the database itself does not end: it ends first, if it can. */
const STATEMENT_STALL_MS = LOAD_STATEMENT_TIMEOUT_MS + 60_000;
/**
 * Maximum time without progress while rows are read, which is watched here instead. The embedded database may loop
 * endlessly when its disk is full. After the rows one statement makes a whole index, or checks all of a table's
 * references.
 */
const STALL_MS = { embedded: 120_000, postgres: STATEMENT_STALL_MS } as const;

const CLOSE_TIMEOUT_MS = 30_000;

export interface RestoreOptions {
  readonly file: string;
  readonly settings: Settings;
  readonly log: Log;
  /** Receives the number of bytes of the file read in each part of the work. */
  readonly onRead?: (part: "checking" | "loading", bytes: number) => void;
  /** What watches that the database responds. Unless given, a database that stands still ends the restore. */
  readonly limit?: StallLimit;
}

/**
 * Restores an installation from a backup, into an empty DATA_DIR and an empty database of either kind. The whole file
 * is checked before anything is changed. Until the last transaction is committed, marks in DATA_DIR and in the database
 * prevent every start, and the same restore can be repeated, which begins anew. Returns the manifest. Throws a
 * BackupError or a StartRefusal, which name the remedy.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { file, settings, onRead } = options;
  const places = placesOf(settings);
  const begun = await readUnfinishedRestore(places.dataFolder);
  if (begun === undefined) await refuseOccupiedFolders(places, file);
  const manifest = await checkBackup({ file, onRead: (bytes) => onRead?.("checking", bytes) });
  refuseLaterSchema(manifest);
  await refuseOtherSecret(manifest, settings);
  if (begun !== undefined && begun !== manifest.id) {
    throw new BackupError(
      `The restore of another backup was begun in ${places.dataFolder} and not finished. Run that one again, or empty the ` +
        "folder and the database to begin anew.",
    );
  }
  await markUnfinished(places.dataFolder, manifest.id);
  const database = await openTarget(options, places).catch(async (thrown: unknown) => {
    // Nothing was changed; an embedded database created in the meantime is empty.
    if (begun === undefined && settings.DATABASE_URL !== undefined)
      await unmarkUnfinished(places.dataFolder);
    throw thrown;
  });
  try {
    if (!(begun === manifest.id && (await isRestored(database.db, manifest)))) {
      const { limit = limitStall(STALL_MS[database.kind], standsStill) } = options;
      if (begun === manifest.id && (await isHalf(database.db, manifest.id)))
        await limit.hold(removeHalf(database.db, limit.tick));
      const relations = await listRelations(database.db);
      if (relations.length > 0 && begun === undefined) await unmarkUnfinished(places.dataFolder);
      refuseOccupiedDatabase(relations);
      await limit.hold(load(database.db, manifest, { ...options, places, limit }));
      await database.db.execute(sql`analyze`);
    }
  } finally {
    // A stalled database does not close, either.
    await within(database.close(), CLOSE_TIMEOUT_MS, standsStill).catch(() => undefined);
  }
  await unmarkUnfinished(places.dataFolder);
  return manifest;
}

/** Opens the database to restore into, locked against gateways and other restores until it is closed. */
async function openTarget(
  { settings, log }: RestoreOptions,
  { dataFolder }: Places,
): Promise<Database> {
  const url = settings.DATABASE_URL;
  if (url === undefined) return openDatabase(settings, log, () => LOAD_TIMEOUT_MS);
  const folderLock = await awaitProcessLock(dataFolder);
  let closers = [() => folderLock.release()];
  const close = async () => {
    const all = closers;
    closers = [];
    for (const one of all.reverse()) await one();
  };
  try {
    const database = await openDatabase(settings, log);
    closers.push(() => database.close());
    const lock = await openReplicaLock({ url, isShared: false, onLost: () => undefined });
    if (lock === undefined) {
      throw new BackupError(
        "A gateway or another restore works on the database at DATABASE_URL. Stop it, or name another database.",
      );
    }
    closers.push(() => lock.close());
    return { ...database, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

interface LoadOptions extends RestoreOptions {
  readonly places: Places;
  readonly limit: StallLimit;
}

async function load(
  db: Db,
  manifest: Manifest,
  { file, places, settings, onRead, limit }: LoadOptions,
): Promise<void> {
  const tables = await beginTableLoad(db, manifest, limit.tick);
  const wantsSecret = settings.APP_SECRET === undefined;
  const visit = async (entry: ArchiveEntry): Promise<void> => {
    limit.tick();
    const table = tableOf(entry.path);
    if (table !== undefined) return tables.insert(table, await readWhole(entry));
    if (entry.path === ENTRY.secret && !wantsSecret) return;
    const path = placeOf(entry.path, places);
    // An existing license was placed by the operator.
    if (entry.path === ENTRY.license && (await isThere(path))) return;
    await placeFile(path, entry.content);
  };
  const loaded = await readBackup({
    file,
    visit,
    onRead(bytes) {
      // An uploaded file is long.
      limit.tick();
      onRead?.("loading", bytes);
    },
  });
  if (loaded.id !== manifest.id) throw new BackupError("The file was replaced meanwhile.");
  limit.allow(STATEMENT_STALL_MS);
  await tables.finish(async (transaction) => {
    await endRestoredRuns(transaction, Date.now());
    limit.tick();
    const hasOriginals = manifest.entries.some(({ path }) => originalOf(path) !== undefined);
    if (hasOriginals) await markRestoredFolder(transaction, places.files);
    await transaction.execute(sql.raw(`comment on table installation is '${noteOf(manifest)}'`));
  });
}

function placeOf(entry: string, { secret, license, seenTime, journals, files }: Places): string {
  const original = originalOf(entry);
  if (original !== undefined) return originalPath(files, original);
  switch (entry) {
    case ENTRY.secret:
      return secret;
    case ENTRY.license:
      return license;
    case ENTRY.seenTime:
      return seenTime;
    default:
      return join(journals, entry.slice(ENTRY.journal.length));
  }
}

/** Returns whether the last transaction of this same restore was committed, so that only the mark remains to be removed. */
async function isRestored(db: Db, manifest: Manifest): Promise<boolean> {
  const [row] = await db.execute<{ note: string | null }>(
    sql`select obj_description(to_regclass('installation'), 'pg_class') as note`,
  );
  return row?.note === noteOf(manifest);
}

/** Becomes part of a statement unescaped. */
function noteOf({ id }: Manifest): string {
  return `restored from backup ${id.replaceAll(/\W/g, "")}`;
}

function refuseLaterSchema({ database, productVersion }: Manifest): void {
  if (knownMigrations().includes(database.migration)) return;
  throw new BackupError(
    `The backup was made by release ${productVersion}, whose schema this release does not know. ` +
      "Restore it with that release, or a newer one.",
  );
}

async function refuseOtherSecret(
  { secret: { keptIn, fingerprint } }: Manifest,
  settings: Pick<Settings, "APP_SECRET" | "DATA_DIR">,
): Promise<void> {
  if (settings.APP_SECRET === undefined) {
    if (keptIn === "file") return;
    throw new BackupError(
      "The backup was made where APP_SECRET is set, and does not hold its value. Set APP_SECRET to the same value.",
    );
  }
  if ((await openSecret(settings, fingerprint)).fingerprint === fingerprint) return;
  throw new BackupError(
    "APP_SECRET is not the secret of the backup, so no key would work. " +
      (keptIn === "file" ? "Unset it: the backup holds its own." : "Set it to the same value."),
  );
}

function standsStill(): BackupError {
  return new BackupError(
    "The database does not respond: check that it runs and that its disk has room, then restore again.",
  );
}
