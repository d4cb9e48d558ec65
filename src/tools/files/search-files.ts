import { bytePath, shownPath, textOf } from "./byte-path.ts";
import { FileFault, nowMs, type SearchJob } from "./file-job.ts";
import { type OpenPlace, openFile, openPlace } from "./open-place.ts";
import { ResultLines } from "./result-lines.ts";
import { type Lines, openText, wholeEnd } from "./text-lines.ts";
import { type WalkedEntry, WalkReport, walkFiles } from "./walk-files.ts";

const MAX_FILES = 20_000;
/** Of all files together, and of one. */
const MAX_BYTES = 1024 * 1024 * 1024;
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Characters of a line around what was found. */
const SHOWN_BEFORE = 100;
const SHOWN_LENGTH = 300;

/** Lists the lines of a connection's text files that contain a text. */
export async function searchFiles(job: SearchJob): Promise<string> {
  const { place, glob, withHidden, endsAtMs } = job;
  const opened = openPlace(place);
  const report = new WalkReport();
  const search = new TextSearch(job, report);
  for (const entry of walkFiles(opened, { glob, withHidden, endsAtMs, yields: "file" }, report)) {
    await search.searchFile(opened, entry);
    if (report.stopped !== undefined || search.lines.isCut) break;
  }
  return search.result();
}

class TextSearch {
  readonly lines: ResultLines;
  readonly #job: SearchJob;
  readonly #report: WalkReport;
  readonly #find: (line: string) => number;
  #files = 0;
  #bytes = 0;
  #binary = 0;
  #unreadable = 0;
  #large = 0;

  constructor(job: SearchJob, report: WalkReport) {
    this.#job = job;
    this.#report = report;
    this.lines = new ResultLines(job.limit, job.maxBytes);
    const wanted = job.caseSensitive ? job.text : job.text.toLowerCase();
    this.#find = job.caseSensitive
      ? (line) => line.indexOf(wanted)
      : (line) => line.toLowerCase().indexOf(wanted);
  }

  /** A file that cannot be read or is no text is counted and left out. */
  async searchFile(place: OpenPlace, { path, stat }: WalkedEntry): Promise<void> {
    if (stat.size === 0) return;
    this.#files += 1;
    this.#bytes += Math.min(stat.size, MAX_FILE_BYTES);
    if (this.#files > MAX_FILES) return this.#stop(`more than ${MAX_FILES} files`);
    if (this.#bytes > MAX_BYTES) return this.#stop("more than 1 GiB of files");
    try {
      const opened = openFile(place, path);
      try {
        const text = await openText(opened, textOf(path));
        if (text.encoding === null) this.#binary += 1;
        else await this.#searchLines(shownPath(path), text.lines());
      } finally {
        opened.close();
      }
    } catch (thrown) {
      if (!(thrown instanceof FileFault) && !isOfSystem(thrown)) throw thrown;
      this.#unreadable += 1;
    }
  }

  async #searchLines(path: string, batches: Lines) {
    let number = 0;
    let characters = 0;
    for await (const batch of batches) {
      for (const line of batch) {
        number += 1;
        characters += line.length;
        const at = this.#find(line);
        if (at >= 0 && !this.lines.add(`${path}:${number}: ${excerpt(line, at)}`)) return;
      }
      if (nowMs() > this.#job.endsAtMs) return this.#stop("it took too long");
      if (characters > MAX_FILE_BYTES) {
        this.#large += 1;
        return;
      }
    }
  }

  #stop(reason: string): void {
    this.#report.stopped ??= reason;
  }

  result(): string {
    const notes = [
      ...this.#report.notes(),
      ...noteOf(this.#binary, "files are no plain text, such as PDF and Word, and not searched."),
      ...noteOf(this.#large, "large files were searched only at their beginning."),
      ...noteOf(this.#unreadable, "files could not be read."),
    ];
    return [this.#summary(), ...notes, ...this.lines.lines].join("\n");
  }

  #summary(): string {
    const { text, place } = this.#job;
    const { count, isCut } = this.lines;
    const quoted = `'${shownPath(bytePath(text))}'`;
    if (count === 0) {
      return `No line of the text files of '${place.connection}' contains ${quoted}.`;
    }
    if (!isCut) return `${count} lines contain ${quoted}:`;
    return `The first ${count} lines that contain ${quoted}; there are more. Use a narrower glob or a longer text.`;
  }
}

function noteOf(count: number, what: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${what}`];
}

/** The part of a line around what was found. */
function excerpt(line: string, at: number): string {
  const start = at > SHOWN_BEFORE && line.length > SHOWN_LENGTH ? at - SHOWN_BEFORE : 0;
  const end = wholeEnd(line, start + SHOWN_LENGTH);
  const shown = line.slice(wholeEnd(line, start), end);
  return `${start > 0 ? "…" : ""}${shown}${end < line.length ? "…" : ""}`;
}

function isOfSystem(thrown: unknown): boolean {
  return thrown instanceof Error && "syscall" in thrown;
}
