import type { Db } from "../../db/context.ts";
import type { Clock } from "../../lib/time/clock.ts";
import {
  FolderAway,
  type FolderReader,
  type LeftOut,
  type RootFacts,
  type SeenFile,
} from "./folder-reader.ts";
import { recordDeletions, recordUploads, writeFiles } from "./record-files.ts";
import { SettlingFiles, type SettlingOptions } from "./settling-files.ts";
import {
  countKnownFiles,
  forgetFiles,
  readKnownFiles,
  readKnownFilesAfter,
  readKnownRoot,
  writeFolder,
} from "./watched-rows.ts";

const PAGE_FILES = 2_000;
/** Number of known files that are searched for when the root is a different one than before. */
const LOOKED_FOR_MAX = 6_000;

/** State that one look keeps for the next; valid as long as no other replica looks. */
export class FolderMemory {
  /** The digests of the parts that matched the rows. */
  same: ReadonlySet<string> = new Set();
  /** At the last look no file was gone, or still being written. */
  isSettled = false;
  readonly settling: SettlingFiles;

  constructor(options: SettlingOptions) {
    this.settling = new SettlingFiles(options);
  }
}

export interface Look {
  readonly folder: string;
  readonly reader: FolderReader;
  /** Runs one query, or one transaction, within a timeout. */
  readonly ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly clock: Clock;
  readonly memory: FolderMemory;
  /** The device of the root when this process last saw it; device numbers change when a machine restarts. */
  readonly device: string | undefined;
  /** Called after events were stored. */
  readonly onFired: () => void;
  readonly stopping: AbortSignal;
}

export interface LookOutcome {
  readonly device: string;
  /** Number of files. */
  readonly files: number;
  readonly leftOut: LeftOut;
}

/**
 * Compares a folder with the known files, and fires events for files that were created, changed or deleted and have
 * settled since. The very first look only records the files, and so does the first one at another root while no file was
 * ever seen: the mount was not there before. Rejects with FolderAway, and as queries do.
 */
export async function lookAtFolder(look: Look): Promise<LookOutcome> {
  const { folder, reader, ask, clock } = look;
  const root = await reader.root();
  const { device, inode } = root;
  const known = await ask((db) => readKnownRoot(db, folder));
  const isSame = known?.inode === inode && (look.device ?? device) === device;
  if (known === undefined || !(isSame || known.hadFiles)) {
    const outcome = await writeFirst(look);
    const hadFiles = outcome.files > 0;
    await ask((db) => writeFolder(db, folder, { inode, hadFiles, now: clock.now() }));
    return { ...outcome, device };
  }
  if (!isSame) {
    await confirmFolder(look);
    await ask((db) => writeFolder(db, folder, { inode, now: clock.now() }));
  }
  const outcome = await compare(look, root);
  if (!known.hadFiles && outcome.files > 0) {
    await ask((db) => writeFolder(db, folder, { hadFiles: true, now: clock.now() }));
  }
  return { ...outcome, device };
}

type WalkOutcome = Pick<LookOutcome, "files" | "leftOut">;

async function writeFirst({ folder, reader, ask, stopping }: Look): Promise<WalkOutcome> {
  // Rows may remain from a first look that was interrupted.
  await ask((db) => forgetFiles(db, folder));
  let files = 0;
  for await (const part of reader.walk([])) {
    stopping.throwIfAborted();
    files += part.count;
    await ask((db) => writeFiles(db, folder, part.files ?? []));
    if (part.isLast) return { files, leftOut: part.leftOut };
  }
  throw new FolderAway("the walk through it did not end");
}

/**
 * Confirms that the root is the known folder. A different root may be the same folder, mounted again: then it has some
 * of the known files. An empty mount point has no known files.
 */
async function confirmFolder({ folder, reader, ask }: Look): Promise<void> {
  let after = "";
  for (let looked = 0; looked < LOOKED_FOR_MAX; looked += PAGE_FILES) {
    const known = await ask((db) => readKnownFilesAfter(db, folder, { after, limit: PAGE_FILES }));
    if (known.length === 0 && looked === 0) return;
    const { found } = await reader.find(known.map(({ path }) => path));
    const states = new Map(known.map((file) => [file.path, stateOf(file)]));
    if (found.some((file) => states.get(file.path) === stateOf(file))) return;
    if (known.length < PAGE_FILES) break;
    after = known.at(-1)?.path ?? "";
  }
  throw new FolderAway("another folder is in its place, with none of the files that are known");
}

async function compare(look: Look, root: RootFacts): Promise<WalkOutcome> {
  const { folder, reader, ask, memory, stopping } = look;
  memory.settling.beginLook();
  const same = new Set<string>();
  let hasNews = false;
  let files = 0;
  /** Files of the walk that have a row. */
  let known = 0;
  let leftOut: LeftOut | undefined;
  for await (const part of reader.walk(memory.same)) {
    stopping.throwIfAborted();
    files += part.count;
    leftOut = part.leftOut;
    if (part.files === null) {
      known += part.count;
      same.add(part.digest);
      continue;
    }
    hasNews = true;
    const paths = part.files.map(({ path }) => path);
    const rows = await ask((db) => readKnownFiles(db, folder, paths));
    const differing = part.files.filter((file) => stateOf(file) !== stateOf(rows.get(file.path)));
    if (differing.length === 0) same.add(part.digest);
    known += rows.size + (await fireUploads(look, differing));
  }
  if (leftOut === undefined) throw new FolderAway("the walk through it did not end");
  const isAsBefore = !hasNews && memory.isSettled && same.size === memory.same.size;
  const isComplete = isAsBefore || (await ask((db) => countKnownFiles(db, folder))) === known;
  if (!isComplete) await fireDeletions(look, root);
  memory.same = same;
  memory.isSettled = memory.settling.count === 0;
  return { files, leftOut };
}

/** Resolves with the number of files that have a new row. */
async function fireUploads(look: Look, differing: readonly SeenFile[]): Promise<number> {
  const { folder, ask, clock, memory, onFired } = look;
  const whole = differing.filter((file) => memory.settling.isSettled(file.path, stateOf(file)));
  if (whole.length === 0) return 0;
  const added = await ask((db) => recordUploads(db, whole, { folder, now: clock.now() }));
  onFired();
  return added;
}

/** Searches for every known file: the walk may have missed some, and unreadable files are not gone. */
async function fireDeletions(look: Look, root: RootFacts): Promise<void> {
  const { folder, reader, ask, clock, memory, onFired, stopping } = look;
  let after = "";
  for (;;) {
    stopping.throwIfAborted();
    const known = await ask((db) => readKnownFilesAfter(db, folder, { after, limit: PAGE_FILES }));
    const { gone } = await reader.find(known.map(({ path }) => path));
    const settled = gone.filter((path) => memory.settling.isSettled(path, "gone"));
    if (settled.length > 0) {
      // The folder may have become unavailable during the look.
      const { device, inode } = await reader.root();
      if (device !== root.device || inode !== root.inode) throw new FolderAway("it went away");
      await ask((db) => recordDeletions(db, settled, { folder, now: clock.now() }));
      onFired();
    }
    if (known.length < PAGE_FILES) return;
    after = known.at(-1)?.path ?? "";
  }
}

/** Returns a text that changes when the file is written. */
function stateOf(file: SeenFile | undefined): string {
  return file === undefined ? "" : `${file.size} ${file.modifiedMs}`;
}
