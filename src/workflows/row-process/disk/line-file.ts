import { closeSync, openSync, writeSync } from "node:fs";
import { LineReader } from "../../../lib/text/line-reader.ts";
import { MAX_ROW_BYTES } from "../../rows/row.ts";
import { ProgramFailure } from "../row-work.ts";

/** What one job may have on disk. */
const FILE_MAX_BYTES = 4 * 1024 ** 3;
const BUFFER_CHARACTERS = 1024 * 1024;
/** A row with what stands before it. */
const LINE_MAX_BYTES = MAX_ROW_BYTES * 2;

/** A temporary file of lines, written in large pieces. It is opened with its first line. */
export class LineFile {
  readonly #path: string;
  #file: number | undefined;
  #pending: string[] = [];
  #pendingCharacters = 0;
  #bytes = 0;
  lines = 0;

  constructor(path: string) {
    this.#path = path;
  }

  append(line: string): void {
    this.lines += 1;
    this.#pending.push(line);
    this.#pendingCharacters += line.length + 1;
    if (this.#pendingCharacters > BUFFER_CHARACTERS) this.#write();
  }

  /** Returns the path of the file, which is complete. */
  finish(): string {
    this.#write();
    this.close();
    return this.#path;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(): void {
    this.#file ??= openSync(this.#path, "w");
    this.#pending.push("");
    const bytes = Buffer.from(this.#pending.join("\n"));
    this.#bytes += bytes.length;
    if (this.#bytes > FILE_MAX_BYTES)
      throw new ProgramFailure(
        "row_process_disk",
        `The work needs more than ${FILE_MAX_BYTES / 1024 ** 3} GiB of disk. Work on fewer rows at once.`,
      );
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    this.#pending = [];
    this.#pendingCharacters = 0;
  }
}

/** Yields the lines of a file or of any other source of bytes. Rows have no empty lines and no line ends inside. */
export async function* readLineFile(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<string, void> {
  const reader = new LineReader(LINE_MAX_BYTES);
  for await (const bytes of source) yield* reader.read(bytes);
  yield* reader.end();
}
