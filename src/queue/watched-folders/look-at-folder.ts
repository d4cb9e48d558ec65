import type { Db } from "../../db/context.ts";
import type { Clock } from "../../lib/clock.ts";
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
  readKnownInode,
  writeFolder,
} from "./watched-rows.ts";

const PAGE_FILES = 2_000;
/** So many known files are looked for in a root that is another one than before. */
const LOOKED_FOR_MAX = 6_000;

/** What one look leaves for the next; good as long as nobody else looks. */
export class FolderMemory {
  /** The digests of the parts that were as the rows have them. */
  same: ReadonlySet<string> = new Set();
  /** At the last look nothing was gone, or on its way. */
  isSettled = false;
  readonly settling: SettlingFiles;

  constructor(options: SettlingOptions) {
    this.settling = new SettlingFiles(options);
  }
}

export interface Look {
  readonly folder: string;
  readonly reader: FolderReader;
  /** Runs one query, or one transaction, for so long as it may take. */
  readonly ask: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly clock: Clock;
  readonly memory: FolderMemory;
  /** The device of the root when this process last saw it; numbers of devices change when a machine starts. */
  readonly device: string | undefined;
  /** Events were stored. */
  readonly onFired: () => void;
  readonly stopping: AbortSignal;
}

export interface LookOutcome {
  readonly device: string;
  /** How many there are. */
  readonly files: number;
  readonly leftOut: LeftOut;
}

/**
 * Compares a folder with what is known of it, and fires events for files that came, changed or went and have settled
 * since. The first look ever only writes down what is there. Rejects with FolderAway, and as queries do.
 */
export async function lookAtFolder(look: Look): Promise<LookOutcome> {
  const { folder, reader, ask, clock } = look;
  const root = await reader.root();
  const inode = await ask((db) => readKnownInode(db, folder));
  if (inode === undefined) {
    const outcome = await writeFirst(look);
    await ask((db) => writeFolder(db, folder, { inode: root.inode, now: clock.now() }));
    return { ...outcome, device: root.device };
  }
  const isSame = inode === root.inode && (look.device ?? root.device) === root.device;
  if (!isSame) {
    await confirmFolder(look);
    await ask((db) => writeFolder(db, folder, { inode: root.inode, now: clock.now() }));
  }
  const outcome = await compare(look, root);
  return { ...outcome, device: root.device };
}

type WalkOutcome = Pick<LookOutcome, "files" | "leftOut">;

async function writeFirst({ folder, reader, ask, stopping }: Look): Promise<WalkOutcome> {
  // Of a first look that was cut off.
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

/** Another root may be the same folder, mounted anew: then some of its files are there. An empty mount point has none. */
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

/** Resolves with the number of files that have a row now and had none. */
async function fireUploads(look: Look, differing: readonly SeenFile[]): Promise<number> {
  const { folder, ask, clock, memory, onFired } = look;
  const whole = differing.filter((file) => memory.settling.isSettled(file.path, stateOf(file)));
  if (whole.length === 0) return 0;
  const added = await ask((db) => recordUploads(db, whole, { folder, now: clock.now() }));
  onFired();
  return added;
}

/** Looks for every file that is known: the walk may have missed some, and what it could not look at is not gone. */
async function fireDeletions(look: Look, root: RootFacts): Promise<void> {
  const { folder, reader, ask, clock, memory, onFired, stopping } = look;
  let after = "";
  for (;;) {
    stopping.throwIfAborted();
    const known = await ask((db) => readKnownFilesAfter(db, folder, { after, limit: PAGE_FILES }));
    const { gone } = await reader.find(known.map(({ path }) => path));
    const settled = gone.filter((path) => memory.settling.isSettled(path, "gone"));
    if (settled.length > 0) {
      // The folder may have gone away under the look.
      const { device, inode } = await reader.root();
      if (device !== root.device || inode !== root.inode) throw new FolderAway("it went away");
      await ask((db) => recordDeletions(db, settled, { folder, now: clock.now() }));
      onFired();
    }
    if (known.length < PAGE_FILES) return;
    after = known.at(-1)?.path ?? "";
  }
}

/** The same for a file as long as nothing is written to it. */
function stateOf(file: SeenFile | undefined): string {
  return file === undefined ? "" : `${file.size} ${file.modifiedMs}`;
}
