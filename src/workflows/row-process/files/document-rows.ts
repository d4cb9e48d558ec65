import { rowLines } from "../../../knowledge/ingest/chunks/row-lines.ts";
import {
  type Block,
  type SourceFile,
  tooManyCharacters,
  UnreadableFile,
} from "../../../knowledge/readers/reader.ts";
import { findReader } from "../../../knowledge/readers/registry.ts";
import { storableText } from "../../../lib/text/storable-text.ts";
import type { FileRow } from "./file-rows.ts";

/** A longer text comes in several rows: a row is bounded. */
const PART_MAX_CHARACTERS = 250_000;
const LINE_MAX_CHARACTERS = 8_192;

/** Yields the text of a document as one row, or as several with `part` when it is long. */
export async function* readDocumentRows(file: SourceFile): AsyncGenerator<FileRow, void> {
  const reader = await findReader(file);
  let lines: string[] = [];
  let length = 0;
  let all = 0;
  let part = 0;
  const taken = (): FileRow => {
    part += 1;
    const row = { text: storableText(lines.join("\n")).trim(), part };
    lines = [];
    length = 0;
    return { row };
  };
  for await (const block of reader.read(file)) {
    for (const line of linesOf(block)) {
      lines.push(line);
      length += line.length + 1;
      all += line.length;
      if (all > file.limits.characters) throw tooManyCharacters(file.limits);
      if (length > PART_MAX_CHARACTERS) yield taken();
    }
  }
  if (length > 0) yield taken();
  if (part === 0)
    throw new UnreadableFile("unsupported_file", reader.noText ?? "The file has no text.");
}

function linesOf(block: Block): readonly string[] {
  if (block.kind === "row") return [...rowLines(block.cells, LINE_MAX_CHARACTERS)];
  if (block.kind === "heading") return ["", `${"#".repeat(block.level)} ${block.text}`, ""];
  const pieces: string[] = [];
  for (let at = 0; at < block.text.length; at += PART_MAX_CHARACTERS)
    pieces.push(block.text.slice(at, at + PART_MAX_CHARACTERS));
  return pieces;
}
