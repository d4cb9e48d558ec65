import { createReadStream } from "node:fs";
import iconv from "iconv-lite";
import { type SourceFile, tooManyCharacters } from "../reader.ts";

/** A longer line comes in pieces. */
const LINE_MAX = 8_192;
/** A piece ends at a space within this distance. */
const CUT_LOOK_BACK = 256;

/** A line without its end; `isCut` when it continues with the next one. */
export interface Line {
  readonly text: string;
  readonly isCut: boolean;
}

/**
 * The encoding of a file that names one itself. It is right unless the bytes prove the contrary, or nobody knows it.
 * Undefined: nothing is known.
 */
export async function encodingOf(
  file: SourceFile,
  declared: string | undefined,
): Promise<string | undefined> {
  const detected = (await file.encoding()) ?? undefined;
  const isKnown = declared !== undefined && iconv.encodingExists(declared);
  return isKnown && !detected?.startsWith("utf") ? declared : detected;
}

/** Decodes a text file in pieces, without a byte order mark. */
export async function* readText(file: SourceFile, encoding?: string): AsyncGenerator<string, void> {
  const name = encoding ?? (await file.encoding()) ?? "utf-8";
  if (/^utf-?8$/i.test(name)) {
    const decoder = new TextDecoder("utf-8");
    for await (const bytes of createReadStream(file.path) as AsyncIterable<Buffer>)
      yield decoder.decode(bytes, { stream: true });
    yield decoder.decode();
    return;
  }
  const decoder = iconv.getDecoder(name);
  for await (const bytes of createReadStream(file.path) as AsyncIterable<Buffer>)
    yield decoder.write(bytes);
  yield decoder.end() ?? "";
}

/** The whole text, for formats that cannot be read in pieces. Throws when it is beyond the limit of characters. */
export async function readWholeText(file: SourceFile, encoding?: string): Promise<string> {
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of readText(file, encoding)) {
    length += piece.length;
    if (length > file.limits.characters) throw tooManyCharacters(file.limits);
    pieces.push(piece);
  }
  return pieces.join("");
}

/** Yields the lines in batches, one for each piece that was read. Lines end with LF, CRLF or CR. */
export async function* readLines(file: SourceFile): AsyncGenerator<Line[], void> {
  let rest = "";
  for await (const piece of readText(file)) {
    // A CR at the end may be the first half of a CRLF.
    const text = rest + piece;
    const isOpen = text.endsWith("\r");
    const lines = withoutReturns(isOpen ? text.slice(0, -1) : text).split("\n");
    rest = lines.pop() ?? "";
    const batch: Line[] = [];
    for (const line of lines) pushLine(batch, line);
    rest = pushCut(batch, rest) + (isOpen ? "\r" : "");
    yield batch;
  }
  const batch: Line[] = [];
  for (const line of withoutReturns(rest).split("\n")) pushLine(batch, line);
  yield batch;
}

function withoutReturns(text: string): string {
  return text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
}

function pushLine(batch: Line[], line: string): void {
  batch.push({ text: pushCut(batch, line), isCut: false });
}

/** Adds the pieces of a long line but the last one, which it returns. */
function pushCut(batch: Line[], line: string): string {
  let start = 0;
  while (line.length - start > LINE_MAX) {
    const end = cutBefore(line, start + LINE_MAX);
    batch.push({ text: line.slice(start, end), isCut: true });
    start = end;
  }
  return start === 0 ? line : line.slice(start);
}

function cutBefore(text: string, limit: number): number {
  const space = text.lastIndexOf(" ", limit - 1) + 1;
  if (space > limit - CUT_LOOK_BACK) return space;
  // Never between the halves of a character.
  const code = text.charCodeAt(limit - 1);
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit;
}
