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
import { isBelow, isProtected, WORKSPACE } from "../../../knowledge/file-connections.ts";
import { syncFolder } from "../../../lib/folders/sync-folder.ts";
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
  let parent = root;
  for (const level of levels.slice(0, -1)) {
    parent = join(parent, level);
    await makeLevel(parent);
  }
  const target = join(parent, levels.at(-1) ?? "");
  const isOutside = !isBelow(root, await realpath(parent));
  if (isOutside || isProtected(connections.hidden, root, target)) throw refused(path);
  const found = await lstat(target).catch(() => undefined);
  if (found?.isDirectory() === true)
    throw new StepFailure("path_refused", `'${path}' is a folder. Name a file in it.`);
  return openDraft(target);
}

async function openDraft(path: string): Promise<WorkspaceDraft> {
  const draft = join(dirname(path), `.${basename(path).slice(0, 60)}.${randomBase62(12)}.tmp`);
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
      await rename(draft, path);
      await syncFolder(dirname(path));
    },
    async discard() {
      await close().catch(() => undefined);
      await rm(draft, { force: true }).catch(() => undefined);
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

async function makeLevel(path: string): Promise<void> {
  await mkdir(path, { mode: 0o750 }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== "EEXIST") throw thrown;
  });
  if ((await lstat(path)).isDirectory()) return;
  throw refused(basename(path));
}

function refused(path: string): StepFailure {
  return new StepFailure(
    "path_refused",
    `'${path.slice(0, 200)}' cannot be written. Give a path inside WORKSPACE_DIR without links, hidden names and '..'.`,
  );
}
