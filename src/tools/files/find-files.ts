import { bytePath, shownPath } from "./byte-path.ts";
import type { FindJob } from "./file-job.ts";
import { openPlace } from "./open-place.ts";
import { ResultLines } from "./result-lines.ts";
import { type WalkedEntry, WalkReport, walkFiles } from "./walk-files.ts";

/** Lists the files or folders of a connection that a glob matches, with the sizes and times of files. */
export function findFiles({ place, maxBytes, endsAtMs, ...job }: FindJob): string {
  const { glob, withHidden, type: yields } = job;
  const report = new WalkReport();
  const lines = new ResultLines(job.limit, maxBytes);
  for (const entry of walkFiles(openPlace(place), { glob, withHidden, endsAtMs, yields }, report)) {
    if (!lines.add(shownEntry(entry))) break;
  }
  return [summaryOf(job, place.connection, lines), ...report.notes(), ...lines.lines].join("\n");
}

function summaryOf(
  { type, glob }: Pick<FindJob, "type" | "glob">,
  connection: string,
  { count, isCut }: ResultLines,
): string {
  if (count === 0) return `No ${type} of '${connection}' matches '${shownPath(bytePath(glob))}'.`;
  if (!isCut) return `${count} ${type}s of '${connection}':`;
  return `The first ${count} ${type}s of '${connection}' that match; there are more. Use a narrower glob to see them.`;
}

function shownEntry({ path, stat }: WalkedEntry): string {
  if (stat.isDirectory()) return `${shownPath(path)}/`;
  return `${shownPath(path)}  ${stat.size} bytes  ${timeOf(stat.mtimeMs)}`;
}

function timeOf(ms: number): string {
  const date = new Date(ms);
  // A file system may hold times that no date has.
  return Number.isNaN(date.getTime()) ? "unknown time" : `${date.toISOString().slice(0, 19)}Z`;
}
