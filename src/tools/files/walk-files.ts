import type { Stats } from "node:fs";
import { pathGlob } from "../../queue/path-glob.ts";
import { type BytePath, textOf } from "./byte-path.ts";
import { nowMs } from "./file-job.ts";
import {
  isReadable,
  lookAt,
  namesIn,
  type Opened,
  type OpenPlace,
  openFolder,
} from "./open-place.ts";

/** Entries that one walk looks at. */
const MAX_ENTRIES = 200_000;
/** Levels below the folder of the connection. */
const MAX_DEPTH = 64;

/** A file or folder of a walk. */
export interface WalkedEntry {
  readonly path: BytePath;
  readonly stat: Stats;
}

export interface WalkOptions {
  /** Which paths are yielded; folders that have none of them are not entered. */
  readonly glob: string;
  /** Also files and folders whose name begins with a dot. */
  readonly withHidden: boolean;
  /** In milliseconds of `nowMs`. */
  readonly endsAtMs: number;
  readonly yields: "file" | "folder";
}

/** What a walk has left out so far. */
export class WalkReport {
  entries = 0;
  /** Folders that could not be read. */
  unreadable = 0;
  tooDeep = 0;
  /** Why it ended before its end. */
  stopped: string | undefined;

  /** One sentence for each reason why something may be missing. */
  notes(): readonly string[] {
    const { unreadable, tooDeep, stopped } = this;
    return [
      ...(stopped === undefined ? [] : [`Stopped early: ${stopped}. Use a narrower glob.`]),
      ...(unreadable === 0 ? [] : [`${unreadable} folders could not be read.`]),
      ...(tooDeep === 0 ? [] : [`Folders more than ${MAX_DEPTH} levels deep were left out.`]),
    ];
  }
}

/**
 * Yields the matching files or folders of a connection, each folder in the order of its names. Symbolic links are not
 * followed, so that a walk ends and stays in its folder.
 */
export function* walkFiles(
  place: OpenPlace,
  options: WalkOptions,
  report: WalkReport,
): Generator<WalkedEntry, void> {
  const { glob } = options;
  // A glob that names something hidden wants it.
  const withHidden = options.withHidden || /(?:^|\/)\.[^./]/.test(glob);
  yield* walkFolder("", 0, { ...options, withHidden, place, report, ...compiled(glob) });
}

interface Walk extends WalkOptions {
  readonly place: OpenPlace;
  readonly report: WalkReport;
  readonly matches: (path: string) => boolean;
  /** What each path that matches begins with. */
  readonly beginning: string;
}

function compiled(glob: string): Pick<Walk, "matches" | "beginning"> {
  const literal = /^[^*?[\\]*/.exec(glob.normalize("NFC"))?.[0] ?? "";
  const beginning = literal.replace(/^(?:\.?\/)+/, "").replaceAll(/\/+/g, "/");
  return { matches: pathGlob(glob), beginning };
}

function* walkFolder(path: BytePath, depth: number, walk: Walk): Generator<WalkedEntry, void> {
  const folder = enter(path, walk);
  if (folder === undefined) return;
  try {
    for (const entry of entriesIn(folder, path, walk)) {
      if (isWanted(entry, walk)) yield entry;
      if (!entry.stat.isDirectory() || !mayHold(walk, entry.path)) continue;
      if (depth < MAX_DEPTH) yield* walkFolder(entry.path, depth + 1, walk);
      else walk.report.tooDeep += 1;
    }
  } finally {
    folder.opened.close();
  }
}

function* entriesIn(
  { opened, names }: Entered,
  path: BytePath,
  walk: Walk,
): Generator<WalkedEntry, void> {
  for (const name of names) {
    if (isOver(walk)) return;
    if (name.startsWith(".") && !walk.withHidden) continue;
    const stat = lookAt(opened, name);
    if (stat !== undefined) yield { path: path === "" ? name : `${path}/${name}`, stat };
  }
}

function isWanted({ path, stat }: WalkedEntry, { yields, matches }: Walk): boolean {
  const isOfType = yields === "file" ? stat.isFile() : stat.isDirectory();
  return isOfType && matches(textOf(path));
}

interface Entered {
  readonly opened: Opened;
  readonly names: readonly BytePath[];
}

/** Undefined for a folder that cannot be read or must not be. */
function enter(path: BytePath, { place, report }: Walk): Entered | undefined {
  if (!isReadable(place, path)) return undefined;
  let opened: Opened | undefined;
  try {
    opened = openFolder(place, path);
    return { opened, names: namesIn(opened) };
  } catch {
    opened?.close();
    report.unreadable += 1;
    return undefined;
  }
}

function isOver({ report, endsAtMs }: Walk): boolean {
  if (report.stopped !== undefined) return true;
  report.entries += 1;
  if (report.entries > MAX_ENTRIES)
    report.stopped = `more than ${MAX_ENTRIES.toLocaleString("en-US")} entries`;
  else if (nowMs() > endsAtMs) report.stopped = "it took too long";
  return report.stopped !== undefined;
}

/** Whether a path that matches may be in this folder. */
function mayHold({ beginning }: Walk, path: BytePath): boolean {
  const folder = `${textOf(path).normalize("NFC")}/`;
  return folder.startsWith(beginning) || beginning.startsWith(folder);
}
