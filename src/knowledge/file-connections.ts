import { type FileHandle, realpath } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import { BACKUPS_FOLDER, databaseFolder, filesFolder, journalsFolder } from "../config/folders.ts";
import type { Settings } from "../config/settings.ts";
import { ServiceError } from "../core/service-error.ts";
import { openRealFile } from "../lib/folders/open-real-file.ts";

/** A folder of the server whose files tools and vector stores may read. */
export interface FileConnection {
  /** Unique. */
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  /** It is one of WATCH_DIRS: its files fire events. */
  readonly isWatched: boolean;
}

/** The folders of the service, which no connection shows, whatever links or mounts lead there. Absolute. */
export interface ProtectedFolders {
  /** DATA_DIR. A connection whose folder is in it shows that folder. */
  readonly data: string;
  /** What no connection shows, wherever it is. */
  readonly written: readonly string[];
}

export type FileConnections = ReturnType<typeof openFileConnections>;

/** The name of WORKSPACE_DIR, and of its default folder in DATA_DIR. */
export const WORKSPACE = "workspace";
/** They hold the environment and the memory of processes. */
const OF_SYSTEM = ["/proc", "/sys", "/dev"];

/**
 * Names the folders that may be read: `workspace`, and each of WATCH_DIRS by the last level of its path; a name that is
 * taken gets `-2`, `-3` and so on. A folder that is both has the name `workspace`.
 */
export function openFileConnections({
  WORKSPACE_DIR,
  WATCH_DIRS,
  DATA_DIR,
  JOURNAL_DIR,
  FILES_DIR,
}: Pick<Settings, "WORKSPACE_DIR" | "WATCH_DIRS" | "DATA_DIR"> &
  Partial<Pick<Settings, "JOURNAL_DIR" | "FILES_DIR">>) {
  const watched = new Set(WATCH_DIRS.map((folder) => resolve(folder)));
  const workspace = resolve(WORKSPACE_DIR ?? join(DATA_DIR, WORKSPACE));
  const byName = new Map<string, FileConnection>();
  for (const folder of new Set([workspace, ...watched])) {
    const name = freeName(folder === workspace ? WORKSPACE : basename(folder), byName);
    byName.set(name, { name, folder, isWatched: watched.has(folder) });
  }
  const hidden: ProtectedFolders = {
    data: resolve(DATA_DIR),
    written: [
      journalsFolder({ DATA_DIR, JOURNAL_DIR }),
      filesFolder({ DATA_DIR, FILES_DIR }),
      databaseFolder(DATA_DIR),
      resolve(DATA_DIR, BACKUPS_FOLDER),
    ],
  };
  const find = (name: string) => byName.get(name);
  const findOrThrow = (name: string): FileConnection => {
    const found = find(name);
    if (found === undefined) throw unknownConnection(name);
    return found;
  };
  return {
    list: (): readonly FileConnection[] => [...byName.values()],
    find,
    /** For those who read paths by themselves. */
    hidden,
    /**
     * Returns the absolute path of a file or folder, free of symbolic links. A link is followed when its target is in
     * the same connection. Rejects with `not_found` for anything outside it, for what does not exist, and for what
     * belongs to the service.
     */
    resolve: async (name: string, path: string) => resolveWithin(findOrThrow(name), hidden, path),
    /**
     * Opens a file as `resolve` finds it: what is read of it is what was checked, whatever takes its place meanwhile.
     * Whoever gets it closes it. Rejects as `resolve` does, also for what is no regular file, and as the file system does.
     */
    open: async (name: string, path: string) => openWithin(findOrThrow(name), hidden, path),
  };
}

function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  const base = wanted === "" ? "root" : wanted;
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
  return name;
}

async function resolveWithin(
  { folder, name }: FileConnection,
  hidden: ProtectedFolders,
  path: string,
): Promise<string> {
  const levels = path.split("/");
  if (path.startsWith("/") || path.includes("\0") || levels.includes("..")) {
    throw outside(name, path);
  }
  try {
    const root = await realpath(folder);
    const found = await realpath(join(root, ...levels));
    if (isBelow(root, found) && !isProtected(await realFolders(hidden), root, found)) return found;
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
  }
  throw outside(name, path);
}

async function openWithin(
  connection: FileConnection,
  hidden: ProtectedFolders,
  path: string,
): Promise<FileHandle> {
  const found = await resolveWithin(connection, hidden, path);
  const file = await openRealFile(found).catch((thrown: unknown) => {
    if (!isMissing(thrown)) throw thrown;
  });
  if (file === undefined) throw outside(connection.name, path);
  return file;
}

/** Returns the protected folders free of symbolic links. */
async function realFolders({ data, written }: ProtectedFolders): Promise<ProtectedFolders> {
  // A folder that does not exist has nothing to protect.
  const real = (path: string) => realpath(path).catch(() => path);
  return { data: await real(data), written: await Promise.all(written.map(real)) };
}

/**
 * Returns whether a path belongs to the service or the system, so that the connection with this folder must not show
 * it. All paths are absolute and free of symbolic links.
 */
export function isProtected(hidden: ProtectedFolders, root: string, path: string): boolean {
  if ([...OF_SYSTEM, ...hidden.written].some((folder) => isBelow(folder, path))) return true;
  if (!isBelow(hidden.data, path)) return false;
  const isOfConnection = root !== hidden.data && isBelow(hidden.data, root);
  return !isOfConnection && !isBelow(join(hidden.data, WORKSPACE), path);
}

/** Returns whether an absolute path is this folder or in it. */
export function isBelow(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

const MISSING = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && MISSING.has(String(thrown.code));
}

function unknownConnection(name: string): ServiceError {
  return new ServiceError(
    "not_found",
    `There is no file connection '${name.slice(0, 64)}'. There is 'workspace', and one for each folder of WATCH_DIRS.`,
  );
}

/** The same for what is outside and for what does not exist, so that neither is revealed. */
function outside(name: string, path: string): ServiceError {
  return new ServiceError(
    "not_found",
    `The file connection '${name}' has no '${path.slice(0, 200)}'. Give a path relative to its folder.`,
  );
}
