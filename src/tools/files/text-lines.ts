import { readSync } from "node:fs";
import { extname } from "node:path";
import { READ_LIMITS, type SourceFile } from "../../knowledge/readers/reader.ts";
import { detectEncoding } from "../../knowledge/readers/shared/detect-encoding.ts";
import { readLines } from "../../knowledge/readers/shared/read-text.ts";
import type { Opened } from "./open-place.ts";

const HEAD_BYTES = 64 * 1024;
/** An encoding is chosen by at most so much of a file. */
const DETECT_BYTES = 16 * 1024 * 1024;
const PDF_MARK = Buffer.from("%PDF-");

/** A file whose content is looked at as text. Its lines are not read when `encoding` is null. */
export async function openText(opened: Opened, name: string): Promise<TextFile> {
  const buffer = Buffer.alloc(HEAD_BYTES);
  const head = buffer.subarray(0, readSync(opened.descriptor, buffer, 0, HEAD_BYTES, 0));
  const { path, size } = opened;
  const encoding = await detectEncoding(path, head, DETECT_BYTES);
  // It may begin with enough text to look like one.
  const isPdf = head.subarray(0, PDF_MARK.length).equals(PDF_MARK);
  const file: SourceFile = {
    path,
    extension: extname(name).slice(1).toLowerCase(),
    size,
    head,
    zip: undefined,
    encoding: async () => encoding,
    limits: READ_LIMITS,
  };
  return { encoding: isPdf ? null : encoding, lines: () => withoutLastEmpty(readLines(file)) };
}

/** Batches of lines. */
export type Lines = AsyncGenerator<readonly string[], void>;

export interface TextFile {
  /** Null: it is no plain text. */
  readonly encoding: string | null;
  /** Batches of lines. A line of more than 8,192 characters is divided, and each part counts as a line. */
  readonly lines: () => Lines;
}

/** The end of the last line is not the beginning of another one. */
async function* withoutLastEmpty(
  batches: AsyncGenerator<readonly { readonly text: string }[], void>,
): Lines {
  let isHeld = false;
  for await (const batch of batches) {
    const lines = batch.map(({ text }) => text);
    if (lines.length === 0) continue;
    if (isHeld) lines.unshift("");
    isHeld = lines.at(-1) === "";
    if (isHeld) lines.pop();
    yield lines;
  }
}

/** Returns `end`, or the place before it where that is between the halves of a character. */
export function wholeEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  return text.charCodeAt(end - 1) >> 10 === 0x36 ? end - 1 : end;
}
