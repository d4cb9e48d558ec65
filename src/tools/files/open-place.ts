import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { isBelow, isProtected, type ProtectedFolders } from "../../knowledge/file-connections.ts";
import { openedPath, pathOfDescriptor, READ_FLAGS } from "../../lib/folders/opened-path.ts";
import { type BytePath, bytePath, bytesOf, shownPath } from "./byte-path.ts";
import { FileFault, type Place } from "./file-job.ts";

// Everything here blocks. It runs in a process of its own, which is killed when it takes too long.

/** A connection whose folder is there. Its paths are free of symbolic links. */
export interface OpenPlace {
  readonly connection: string;
  readonly root: BytePath;
  readonly hidden: ProtectedFolders;
}

/** A file or folder that is open. What is read through `path` is what was checked. */
export interface Opened {
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
  readonly close: () => void;
}

/** Throws a `FileFault` when the folder of the connection cannot be read. */
export function openPlace({ connection, folder, hidden }: Place): OpenPlace {
  const real = (path: string) => realPath(bytePath(path)) ?? bytePath(path);
  const root = realPath(bytePath(folder));
  if (root === undefined || !lstatSync(bytesOf(root)).isDirectory()) {
    throw new FileFault(`The folder of the connection '${connection}' does not exist now.`);
  }
  const place = {
    connection,
    root,
    hidden: { data: real(hidden.data), written: hidden.written.map(real) },
  };
  openFolder(place, "").close();
  return place;
}

/**
 * Opens a file. Links are followed when they lead to a file of the same connection. Throws a `FileFault` for what does
 * not exist, is outside, belongs to the service or is no file.
 */
export function openFile(place: OpenPlace, path: BytePath): Opened {
  const real = realPath(absolute(place, path));
  if (real === undefined || !isReadablePath(place, real)) throw unknown(place, path);
  return tryToOpen(path, () => {
    const stat = lstatSync(bytesOf(real));
    if (!stat.isFile()) throw noFile(path, stat);
    return openChecked(place, path, { real, flags: READ_FLAGS });
  });
}

/** Opens a folder, which must not be a link nor be reached through one. Throws a `FileFault`. */
export function openFolder(place: OpenPlace, path: BytePath): Opened {
  const real = absolute(place, path);
  if (!isReadablePath(place, real)) throw unknown(place, path);
  const flags = READ_FLAGS | constants.O_DIRECTORY;
  return tryToOpen(path, () => openChecked(place, path, { real, flags }));
}

/** Returns the names in a folder, in order. */
export function namesIn({ path }: Opened): readonly BytePath[] {
  return readdirSync(Buffer.from(path, "latin1"), { encoding: "latin1" }).sort();
}

/** Returns what is in a folder under this name, without following a link; undefined when that is not known. */
export function lookAt({ path }: Opened, name: BytePath): Stats | undefined {
  try {
    return lstatSync(bytesOf(`${path}/${name}`), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Whether a path belongs to the connection, and neither to the service nor to the system. */
export function isReadable(place: OpenPlace, path: BytePath): boolean {
  return isReadablePath(place, absolute(place, path));
}

interface Target {
  readonly real: BytePath;
  readonly flags: number;
}

/** A level may have been replaced by a link after the check, so what is open is checked again. */
function openChecked(place: OpenPlace, path: BytePath, { real, flags }: Target): Opened {
  const descriptor = openSync(bytesOf(real), flags);
  const close = () => closeSync(descriptor);
  try {
    const stat = fstatSync(descriptor);
    const isFolder = (flags & constants.O_DIRECTORY) !== 0;
    if (!(isFolder ? stat.isDirectory() : stat.isFile())) throw noFile(path, stat);
    const now = openedPath(descriptor, bytesOf(real))?.toString("latin1");
    if (now === undefined || !isReadablePath(place, now)) throw unknown(place, path);
    return { path: pathOfDescriptor(descriptor, real), descriptor, size: stat.size, close };
  } catch (thrown) {
    close();
    throw thrown;
  }
}

function absolute({ root }: OpenPlace, path: BytePath): BytePath {
  if (path === "") return root;
  return root.endsWith("/") ? root + path : `${root}/${path}`;
}

function isReadablePath({ root, hidden }: OpenPlace, path: BytePath): boolean {
  return isBelow(root, path) && !isProtected(hidden, root, path);
}

/** Undefined when it does not exist. */
function realPath(path: BytePath): BytePath | undefined {
  try {
    return realpathSync.native(bytesOf(path), { encoding: "buffer" }).toString("latin1");
  } catch (thrown) {
    if (codeOf(thrown) === "EACCES") throw denied(path.split("/").at(-1) ?? "", thrown);
    return undefined;
  }
}

function tryToOpen(path: BytePath, open: () => Opened): Opened {
  try {
    return open();
  } catch (thrown) {
    if (thrown instanceof FileFault) throw thrown;
    switch (codeOf(thrown)) {
      case "EACCES":
      case "EPERM":
        throw denied(path, thrown);
      case "ENXIO":
      case "EOPNOTSUPP":
        throw new FileFault(`'${shownPath(path)}' is no ordinary file, so it cannot be read.`, {
          cause: thrown,
        });
      default:
        throw new FileFault(
          `'${shownPath(path)}' has changed or cannot be read now (${codeOf(thrown)}).`,
          { cause: thrown },
        );
    }
  }
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
}

/** The same for what is outside and for what does not exist, so that neither is revealed. */
function unknown({ connection }: OpenPlace, path: BytePath): FileFault {
  return new FileFault(
    `The file connection '${connection}' has no '${shownPath(path)}'. find_files lists its files.`,
  );
}

function denied(path: BytePath, cause: unknown): FileFault {
  return new FileFault(`The server is not permitted to read '${shownPath(path)}'.`, { cause });
}

function noFile(path: BytePath, stat: Stats): FileFault {
  const kind = stat.isDirectory()
    ? "a folder: list its files with find_files"
    : "no ordinary file, but a pipe, a socket or a device: it is not read";
  return new FileFault(`'${shownPath(path)}' is ${kind}.`);
}
