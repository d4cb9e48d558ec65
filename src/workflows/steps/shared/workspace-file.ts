import {
  constants,
  type FileHandle,
  lstat,
  mkdir,
  open,
  realpath,
  rename,
  rm,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { FileConnections } from "../../../knowledge/file-connections.ts";
import { isProtected, WORKSPACE } from "../../../knowledge/file-connections.ts";
import { openedPath, pathOfDescriptor, READ_FLAGS } from "../../../lib/folders/opened-path.ts";
import { randomBase62 } from "../../../lib/id.ts";
import { StepFailure } from "../../runs/run.ts";

const PATH_MAX_BYTES = 1_000;
const LEVEL_MAX_BYTES = 200;

/** A file of WORKSPACE_DIR that is being written under a hidden name beside its place. */
export interface WorkspaceDraft {
  /** Absolute and free of symbolic links: where it will be. */
  readonly path: string;
  readonly write: (text: string) => Promise<void>;
  /** Brings it to the disk. To be called before `place`. */
  readonly finish: () => Promise<void>;
  /** Gives it its place, where another file is replaced in one step. */
  readonly place: () => Promise<void>;
  /** Removes what was not placed. Never rejects. */
  readonly discard: () => Promise<void>;
}

/**
 * Begins a file at a path relative to WORKSPACE_DIR, and makes the folders that are missing. No level may be a symbolic
 * link: it could lead out of the folder. Throws a `StepFailure`.
 */
export async function beginWorkspaceFile(
  connections: Pick<FileConnections, "find" | "hidden">,
  path: string,
): Promise<WorkspaceDraft> {
  const levels = levelsOf(path);
  const folder = connections.find(WORKSPACE)?.folder ?? "";
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  const target = join(root, ...levels);
  if (isProtected(connections.hidden, root, target)) throw refused(path);
  const parent = await openFolder(root, levels.slice(0, -1));
  try {
    // All names from here on are looked up in the folder that is open: its path may lead elsewhere by now.
    const within = pathOfDescriptor(parent.fd, dirname(target));
    const name = basename(target);
    const found = await lstat(`${within}/${name}`).catch(() => undefined);
    if (found?.isDirectory() === true)
      throw new StepFailure("path_refused", `'${path}' is a folder. Name a file in it.`);
    return await openDraft({ path: target, parent, within, name });
  } catch (thrown) {
    await parent.close();
    throw thrown;
  }
}

const FOLDER_FLAGS = READ_FLAGS | constants.O_DIRECTORY;
const NO_FOLDER = new Set(["ENOTDIR", "ELOOP"]);

/** Opens a folder level by level, each in the one before it, and makes those that are missing. */
async function openFolder(root: string, levels: readonly string[]): Promise<FileHandle> {
  let folder = await open(root, FOLDER_FLAGS);
  try {
    let path = root;
    for (const level of levels) {
      const place = `${pathOfDescriptor(folder.fd, path)}/${level}`;
      const next = await openLevel(place, level);
      await folder.close();
      folder = next;
      path = join(path, level);
    }
    const opened = openedPath(folder.fd, Buffer.from(path))?.toString();
    if (opened !== path) throw refused(levels.join("/"));
    return folder;
  } catch (thrown) {
    await folder.close();
    throw thrown;
  }
}

async function openLevel(place: string, level: string): Promise<FileHandle> {
  await mkdir(place, { mode: 0o750 }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EEXIST") throw thrown;
  });
  return open(place, FOLDER_FLAGS).catch((thrown: NodeJS.ErrnoException) => {
    throw NO_FOLDER.has(thrown.code ?? "") ? refused(level) : thrown;
  });
}

interface Place {
  readonly path: string;
  readonly parent: FileHandle;
  /** A path of the parent. */
  readonly within: string;
  readonly name: string;
}

async function openDraft({ path, parent, within, name }: Place): Promise<WorkspaceDraft> {
  const draft = `${within}/.${name.slice(0, 60)}.${randomBase62(12)}.tmp`;
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(draft, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o640);
  let handle: FileHandle | undefined = file;
  const close = async () => {
    const opened = handle;
    handle = undefined;
    await opened?.close();
  };
  return {
    path,
    write: (text) => file.writeFile(text),
    async finish() {
      await file.sync();
      await close();
    },
    async place() {
      await rename(draft, `${within}/${name}`);
      await parent.sync();
    },
    async discard() {
      await close().catch(() => undefined);
      await rm(draft, { force: true }).catch(() => undefined);
      await parent.close().catch(() => undefined);
    },
  };
}

function levelsOf(path: string): readonly string[] {
  const levels = path.split("/");
  const isWrong = (level: string) =>
    level === "" || level.startsWith(".") || Buffer.byteLength(level) > LEVEL_MAX_BYTES;
  const isControl = /[\p{Cc}\\]/u.test(path);
  if (isControl || Buffer.byteLength(path) > PATH_MAX_BYTES || levels.some(isWrong)) {
    throw refused(path);
  }
  return levels;
}

function refused(path: string): StepFailure {
  return new StepFailure(
    "path_refused",
    `'${path.slice(0, 200)}' cannot be written. Give a path inside WORKSPACE_DIR without links, hidden names and '..'.`,
  );
}
