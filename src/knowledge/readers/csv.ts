import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import { type Block, type Reader, type SourceFile, UnreadableFile } from "./reader.ts";
import { readText } from "./shared/read-text.ts";
import { TableRows } from "./shared/table-rows.ts";

const EXTENSIONS = new Set(["csv", "tsv", "tab"]);
const DELIMITERS = [",", ";", "\t", "|"] as const;
/** A longer record mostly begins with a quotation mark that is never closed. */
const RECORD_MAX_CHARACTERS = 1_048_576;
/** Lines that the delimiter is chosen by. */
const LOOK_LINES = 20;

/** Comma-separated values, with whichever delimiter, and TSV. */
export const csvReader: Reader = {
  format: "CSV",
  matches: (file) => EXTENSIONS.has(file.extension),
  read: readRecords,
};

async function* readRecords(file: SourceFile): AsyncGenerator<Block, void> {
  const pieces = readText(file);
  const first = await pieces.next();
  if (first.done === true) return;
  const parser = parse({
    delimiter: file.extension === "csv" ? delimiterOf(first.value) : "\t",
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: RECORD_MAX_CHARACTERS,
  });
  const source = Readable.from(withFirst(first.value, pieces));
  source.on("error", (error) => parser.destroy(error)).pipe(parser);
  const table = new TableRows();
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      const row = table.row(record);
      if (row !== undefined) yield row;
    }
  } catch (thrown) {
    throw isCsvError(thrown) ? notATable(thrown) : thrown;
  } finally {
    source.destroy();
  }
}

async function* withFirst(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** The delimiter that the first lines have most often, outside quotation marks. */
function delimiterOf(text: string): string {
  const bare = text.replaceAll(/"[^"]*"/g, "").split(/\r\n?|\n/, LOOK_LINES);
  const count = (delimiter: string) =>
    bare.reduce((sum, line) => sum + line.split(delimiter).length - 1, 0);
  const [best = ","] = [...DELIMITERS].sort((left, right) => count(right) - count(left));
  return best;
}

function isCsvError(thrown: unknown): thrown is CsvError {
  return thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("CSV_");
}

function notATable({ lines }: CsvError): UnreadableFile {
  const line = typeof lines === "number" ? ` near line ${lines}` : "";
  return new UnreadableFile(
    "invalid_file",
    `The table has a quotation mark${line} that is not closed.`,
  );
}
