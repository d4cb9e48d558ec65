import { readSync } from "node:fs";
import { extname } from "node:path";
import { READ_LIMITS, type SourceFile } from "../../../knowledge/readers/reader.ts";
import { detectEncoding } from "../../../knowledge/readers/shared/detect-encoding.ts";
import { openSourceFile } from "../../../knowledge/readers/shared/source-file.ts";
import { bytePath, readPath, textOf } from "../../../tools/files/byte-path.ts";
import { nowMs, type Place } from "../../../tools/files/file-job.ts";
import { type Opened, openFile, openPlace } from "../../../tools/files/open-place.ts";
import { WalkReport, walkFiles } from "../../../tools/files/walk-files.ts";
import { ProgramFailure } from "../row-work.ts";

const FILES_MAX = 10_000;
const WALK_MS = 60_000;
/** An encoding is chosen by at most so much of a file. */
const DETECT_BYTES = 16 * 1024 * 1024;
const HEAD_BYTES = 64 * 1024;

/** A file of a connection that is open. */
export interface FoundFile {
  /** Relative to the connection. */
  readonly path: string;
  readonly opened: Opened;
}

/** Paths of a connection, and what opens one of them. */
export interface NamedFiles {
  readonly paths: readonly string[];
  readonly open: (path: string) => Opened;
}

/** Finds the file of this path, or all that match a glob, in the order of their paths. */
export function findFiles(
  place: Place,
  { path, isGlob }: { readonly path: string; readonly isGlob: boolean },
): NamedFiles {
  const opened = openPlace(place);
  const paths = isGlob ? matching(opened, path) : [readPath(path)];
  return { paths, open: (found) => openFile(opened, found) };
}

function matching(place: ReturnType<typeof openPlace>, glob: string): readonly string[] {
  const report = new WalkReport();
  const options = { glob, withHidden: false, endsAtMs: nowMs() + WALK_MS, yields: "file" } as const;
  const paths: string[] = [];
  for (const { path } of walkFiles(place, options, report)) {
    paths.push(path);
    if (paths.length > FILES_MAX) throw tooMany(`more than ${FILES_MAX} files`);
  }
  // Missing files would be missing rows, and nobody would notice.
  if (report.stopped !== undefined) throw tooMany(report.stopped);
  return paths.sort();
}

function tooMany(why: string): ProgramFailure {
  return new ProgramFailure(
    "unreadable_file",
    `The files that match could not all be listed: ${why}. Use a narrower path.`,
  );
}

/** The file as a text, whatever its size, for formats that are read as a stream. */
export function asText({ path, opened }: FoundFile): SourceFile {
  const buffer = Buffer.alloc(HEAD_BYTES);
  const head = buffer.subarray(0, readSync(opened.descriptor, buffer, 0, HEAD_BYTES, 0));
  let encoding: Promise<string | null> | undefined;
  return {
    path: opened.path,
    extension: extname(path).slice(1).toLowerCase(),
    size: opened.size,
    head,
    zip: undefined,
    encoding() {
      encoding ??= detectEncoding(opened.path, head, DETECT_BYTES);
      return encoding;
    },
    limits: READ_LIMITS,
  };
}

/** The file as a document, whose archive is bounded. Throws `UnreadableFile`. */
export function asDocument({ path, opened }: FoundFile): Promise<SourceFile> {
  return openSourceFile(opened.path, textOf(bytePath(path)), READ_LIMITS);
}
