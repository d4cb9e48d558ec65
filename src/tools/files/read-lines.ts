import { rowLines } from "../../knowledge/ingest/row-lines.ts";
import {
  type Block,
  READ_LIMITS,
  tooManyCharacters,
  UnreadableFile,
} from "../../knowledge/readers/reader.ts";
import { findBinaryReader } from "../../knowledge/readers/registry.ts";
import { openSourceFile } from "../../knowledge/readers/shared/source-file.ts";
import { bytePath, readPath, shownPath, textOf } from "./byte-path.ts";
import { FileFault, type ReadJob } from "./file-job.ts";
import { type Opened, openFile, openPlace } from "./open-place.ts";
import { ResultLines } from "./result-lines.ts";
import { openText, wholeEnd } from "./text-lines.ts";

/** Documents have to be read whole. */
const DOCUMENT_MAX_BYTES = 100 * 1024 * 1024;
/** The length at which a line of text is divided, too. */
const LINE_MAX = 8_192;

/** Returns lines of a text file or of the text of a document. Throws a `FileFault`. */
export async function readLinesOf(job: ReadJob): Promise<string> {
  const path = readPath(job.path);
  const opened = openFile(openPlace(job.place), path);
  try {
    return await readPart(await linesOf(opened, textOf(path)), job, shownPath(path));
  } catch (thrown) {
    if (!(thrown instanceof UnreadableFile)) throw thrown;
    throw new FileFault(`'${shownPath(path)}' cannot be read: ${thrown.message}`, {
      cause: thrown,
    });
  } finally {
    opened.close();
  }
}

type Lines = AsyncGenerator<readonly string[], void>;

async function linesOf(opened: Opened, name: string): Promise<Lines> {
  const text = await openText(opened, name);
  if (text.encoding !== null) return text.lines();
  if (opened.size > DOCUMENT_MAX_BYTES) {
    throw new FileFault(
      `'${shownPath(bytePath(name))}' is no plain text and has more than ${DOCUMENT_MAX_BYTES} bytes, so it is not read.`,
    );
  }
  return documentLines(opened, name);
}

/** The text of a document, with the pages and sheets it is on. */
async function* documentLines({ path }: Opened, name: string): Lines {
  const file = await openSourceFile(path, name, READ_LIMITS);
  const reader = await findBinaryReader(file);
  if (reader === undefined) {
    throw new UnreadableFile(
      "unsupported_file",
      "it is neither plain text nor a document that text can be read from.",
    );
  }
  let place = "";
  let characters = 0;
  for await (const block of reader.read(file)) {
    const lines = linesOfBlock(block);
    const now = placeOf(block);
    if (now !== place) lines.unshift(now);
    place = now;
    characters += lines.reduce((sum, line) => sum + line.length, 0);
    if (characters > READ_LIMITS.characters) throw tooManyCharacters(READ_LIMITS);
    yield lines;
  }
  if (characters === 0) {
    throw new UnreadableFile("unsupported_file", reader.noText ?? "it has no text.");
  }
}

function placeOf({ page, sheet }: Block): string {
  if (sheet !== undefined) return `[Sheet ${sheet}]`;
  return page === undefined ? "" : `[Page ${page}]`;
}

function linesOfBlock(block: Block): string[] {
  if (block.kind === "row") return [...rowLines(block.cells, LINE_MAX)];
  const text = block.kind === "heading" ? `${"#".repeat(block.level)} ${block.text}` : block.text;
  const lines = text.split("\n").flatMap(divided);
  const isWhole = block.kind === "heading" || block.isCut !== true;
  return isWhole ? [...lines, ""] : lines;
}

function divided(line: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  do {
    const end = wholeEnd(line, start + LINE_MAX);
    pieces.push(line.slice(start, end));
    start = end;
  } while (start < line.length);
  return pieces;
}

/** Returns the lines that were asked for, under one that says which they are and where to go on. */
async function readPart(lines: Lines, job: ReadJob, path: string): Promise<string> {
  const { offset, limit, maxBytes, timeMs } = job;
  const deadline = performance.now() + timeMs;
  const part = new ResultLines(limit, maxBytes);
  let number = 0;
  reading: for await (const batch of lines) {
    for (const line of batch) {
      number += 1;
      if (number >= offset && !part.add(line)) break reading;
    }
    if (performance.now() > deadline) {
      throw new FileFault(`Reading '${path}' up to line ${number} took too long.`);
    }
  }
  const last = offset + part.count - 1;
  if (part.count > 0) {
    const rest = part.isCut ? `it goes on: continue with offset ${last + 1}` : "to the end";
    return [`${path}, lines ${offset} to ${last}, ${rest}:`, ...part.lines].join("\n");
  }
  if (number === 0) return `'${path}' is empty.`;
  throw new FileFault(`'${path}' has only ${number} lines.`);
}
