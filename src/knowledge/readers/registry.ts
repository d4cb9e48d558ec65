import { csvReader } from "./csv.ts";
import { docxReader } from "./docx.ts";
import { htmlReader } from "./html.ts";
import { jsonLinesReader, jsonReader } from "./json.ts";
import { markdownReader } from "./markdown.ts";
import { odtReader } from "./odt.ts";
import { pdfReader } from "./pdf.ts";
import { pptxReader } from "./pptx.ts";
import { type Reader, type SourceFile, UnreadableFile } from "./reader.ts";
import { odsReader, xlsReader, xlsxReader } from "./spreadsheet.ts";
import { textReader } from "./text.ts";
import { xmlReader } from "./xml.ts";

/** Recognised by their content. */
const BINARY: readonly Reader[] = [
  pdfReader,
  docxReader,
  xlsxReader,
  pptxReader,
  odtReader,
  odsReader,
  xlsReader,
];

/** The first one that matches reads a file of text, so the most general one is the last. */
const TEXTS: readonly Reader[] = [
  htmlReader,
  xmlReader,
  csvReader,
  jsonReader,
  jsonLinesReader,
  markdownReader,
  textReader,
];

export const READERS: readonly Reader[] = [...BINARY, ...TEXTS];

/** Throws `UnreadableFile` when no reader extracts text from such a file. */
export async function findReader(file: SourceFile): Promise<Reader> {
  if (file.size === 0) throw new UnreadableFile("unsupported_file", "The file is empty.");
  const binary = await findBinaryReader(file);
  if (binary !== undefined) return binary;
  if (file.zip !== undefined)
    throw new UnreadableFile(
      "unsupported_file",
      "Archives are not read. Upload the files inside it one by one.",
    );
  if ((await file.encoding()) !== null) {
    for (const reader of TEXTS) if (await reader.matches(file)) return reader;
  }
  throw new UnreadableFile(
    "unsupported_file",
    "This is no document that text can be read from, such as an image, a recording or a program.",
  );
}

/** The reader of a file that is a document and no text; undefined for any other file. */
export async function findBinaryReader(file: SourceFile): Promise<Reader | undefined> {
  for (const reader of BINARY) if (await reader.matches(file)) return reader;
  return undefined;
}
