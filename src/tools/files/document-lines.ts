import { rowLines } from "../../knowledge/ingest/chunks/row-lines.ts";
import {
  type Block,
  READ_LIMITS,
  tooManyCharacters,
  UnreadableFile,
} from "../../knowledge/readers/reader.ts";
import { findBinaryReader } from "../../knowledge/readers/registry.ts";
import { openSourceFile } from "../../knowledge/readers/shared/source-file.ts";
import type { Opened } from "./open-place.ts";
import { type Lines, wholeEnd } from "./text-lines.ts";

/** The length at which a line of text is divided, too. */
const LINE_MAX = 8_192;

/** The text of a document, with the pages and sheets it is on. */
export async function* documentLines({ path }: Opened, name: string): Lines {
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
