import { realpath } from "node:fs/promises";
import { basename, join, resolve, sep } from "node:path";
import type { Settings } from "../config/settings.ts";
import { ServiceError } from "../core/service-error.ts";

/** A folder of the server whose files tools and vector stores may read. */
export interface FileConnection {
  /** Unique. */
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  /** It is one of WATCH_DIRS: its files fire events. */
  readonly isWatched: boolean;
}

export type FileConnections = ReturnType<typeof openFileConnections>;

/** The name of WORKSPACE_DIR. */
const WORKSPACE = "workspace";

/**
 * Names the folders that may be read: `workspace`, and each of WATCH_DIRS by the last level of its path; a name that is
 * taken gets `-2`, `-3` and so on. A folder that is both has the name `workspace`.
 */
export function openFileConnections({
  WORKSPACE_DIR,
  WATCH_DIRS,
  DATA_DIR,
}: Pick<Settings, "WORKSPACE_DIR" | "WATCH_DIRS" | "DATA_DIR">) {
  const watched = new Set(WATCH_DIRS.map((folder) => resolve(folder)));
  const workspace = resolve(WORKSPACE_DIR ?? join(DATA_DIR, WORKSPACE));
  const byName = new Map<string, FileConnection>();
  for (const folder of new Set([workspace, ...watched])) {
    const name = freeName(folder === workspace ? WORKSPACE : basename(folder), byName);
    byName.set(name, { name, folder, isWatched: watched.has(folder) });
  }
  const find = (name: string) => byName.get(name);
  const findOrThrow = (name: string): FileConnection => {
    const found = find(name);
    if (found === undefined) throw unknownConnection(name);
    return found;
  };
  return {
    list: (): readonly FileConnection[] => [...byName.values()],
    find,
    /**
     * Returns the absolute path of a file or folder, free of symbolic links. A link is followed when its target is in
     * the same connection. Rejects with `not_found` for anything outside it and for what does not exist.
     */
    resolve: async (name: string, path: string) => resolveWithin(findOrThrow(name), path),
  };
}

function freeName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  const base = wanted === "" ? "root" : wanted;
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
  return name;
}

async function resolveWithin({ folder, name }: FileConnection, path: string): Promise<string> {
  const levels = path.split("/");
  if (path.startsWith("/") || path.includes("\0") || levels.includes("..")) {
    throw outside(name, path);
  }
  try {
    const root = await realpath(folder);
    const found = await realpath(join(root, ...levels));
    if (isBelow(root, found)) return found;
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
  }
  throw outside(name, path);
}

function isBelow(root: string, path: string): boolean {
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
