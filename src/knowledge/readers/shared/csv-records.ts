import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import type { SourceFile } from "../reader.ts";
import { readText } from "./read-text.ts";

const DELIMITERS = [",", ";", "\t", "|"] as const;
/** Lines that the delimiter is chosen by. */
const LOOK_LINES = 20;

export interface CsvOptions {
  /** Undefined chooses the one that the first lines have most often. */
  readonly delimiter: string | undefined;
  /** A longer record mostly begins with a quotation mark that is never closed. */
  readonly recordMax: number;
}

/** Yields the records of a CSV file, the header too. Throws what `isCsvError` knows for a damaged one. */
export async function* readCsvRecords(
  file: SourceFile,
  { delimiter, recordMax }: CsvOptions,
): AsyncGenerator<string[], void> {
  const pieces = readText(file);
  const first = await pieces.next();
  if (first.done === true) return;
  const parser = parse({
    delimiter: delimiter ?? delimiterOf(first.value, LOOK_LINES),
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: recordMax,
  });
  const source = Readable.from(withFirst(first.value, pieces));
  source.on("error", (error) => parser.destroy(error)).pipe(parser);
  try {
    yield* parser as AsyncIterable<string[]>;
  } finally {
    source.destroy();
    parser.destroy();
  }
}

export function isCsvError(thrown: unknown): thrown is CsvError {
  // Not by their codes: that of a quotation mark within a cell has no prefix, unlike the others.
  return thrown instanceof CsvError;
}

/** The pieces of a text whose first one was looked at. */
export async function* withFirst(
  first: string,
  rest: AsyncIterable<string>,
): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** The delimiter that so many lines have most often, from the first with a text on, outside quotation marks. */
export function delimiterOf(text: string, lines: number): string {
  const bare = text
    .replaceAll(/"[^"]*"/g, "")
    .replace(/^\ufeff?(?:[^\S\r\n]*(?:\r\n?|\n))*/, "")
    .split(/\r\n?|\n/, lines);
  const count = (delimiter: string) =>
    bare.reduce((sum, line) => sum + line.split(delimiter).length - 1, 0);
  const [best = ","] = [...DELIMITERS].sort((left, right) => count(right) - count(left));
  return best;
}
