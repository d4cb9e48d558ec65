import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import {
  delimiterOf,
  isCsvError,
  withFirst,
} from "../../../knowledge/readers/shared/csv-records.ts";
import { readText } from "../../../knowledge/readers/shared/read-text.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import {
  type FileHeadings,
  type FileRow,
  faultAt,
  MAX_ROW_CHARACTERS,
  shown,
  TableFault,
} from "./table-job.ts";

interface Record {
  readonly record: readonly (string | null)[];
  readonly info: { readonly lines: number };
}

/**
 * Reads RFC 4180 with any usual delimiter and encoding. The first line has the headings. An empty cell without quotation
 * marks has no value; `""` is an empty text. An empty line is a row in a table of one column, as exports write it.
 */
export async function* csvRows(file: SourceFile): AsyncGenerator<FileHeadings | FileRow, void> {
  if ((await file.encoding()) === null)
    throw new TableFault("The file is no text, so it is no CSV.");
  const pieces = readText(file);
  const first = await pieces.next();
  if (first.done === true) throw new TableFault("The file is empty; its first line has headings.");
  const parser = parse({
    delimiter: delimiterOf(first.value, 1),
    bom: true,
    info: true,
    relax_column_count: true,
    max_record_size: MAX_ROW_CHARACTERS,
    cast: (value, { quoting }) => (value === "" && !quoting ? null : value),
  });
  const source = Readable.from(withFirst(first.value, pieces));
  source.on("error", (error) => parser.destroy(error)).pipe(parser);
  let headings: readonly string[] | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<Record>) {
      if (isEmptyLine(record) && headings?.length !== 1) continue;
      const line = info.lines - linesWithin(record);
      if (headings === undefined) {
        headings = headingsOf(record, line);
        yield { line, headings };
      } else yield { line, values: byHeading(headings, record, line) };
    }
  } catch (thrown) {
    throw isCsvError(thrown) ? unreadable(thrown) : thrown;
  } finally {
    source.destroy();
  }
  if (headings === undefined) throw new TableFault("The file has no line with headings.");
}

export function headingsOf(cells: readonly JsonValue[], line: number): readonly string[] {
  const headings = cells.map((cell) => String(cell ?? "").trim());
  while (headings.at(-1) === "") headings.pop();
  for (const [index, heading] of headings.entries()) {
    if (heading === "") throw faultAt(line, `column ${index + 1} has no heading.`);
    if (headings.indexOf(heading) !== index) {
      throw new TableFault(`Line ${line}: two columns have the heading '${shown(heading)}'.`);
    }
  }
  if (headings.length === 0) throw faultAt(line, "there are no headings.");
  return headings;
}

export function byHeading(headings: readonly string[], cells: readonly JsonValue[], line: number) {
  const extra = cells.findIndex((cell, index) => index >= headings.length && cell !== null);
  if (extra >= 0) {
    throw faultAt(line, `it has ${cells.length} cells, and there are ${headings.length} headings.`);
  }
  return Object.fromEntries(headings.map((heading, index) => [heading, cells[index] ?? null]));
}

function isEmptyLine(record: Record["record"]): boolean {
  return record.length === 1 && record[0] === null;
}

function linesWithin(record: readonly (string | null)[]): number {
  let lines = 0;
  for (const cell of record) {
    if (cell?.includes("\n") === true) lines += cell.split("\n").length - 1;
  }
  return lines;
}

function unreadable({ code, lines }: CsvError): TableFault {
  return faultAt(typeof lines === "number" ? lines : 0, reasonOf(code));
}

function reasonOf(code: string): string {
  if (code === "CSV_MAX_RECORD_SIZE")
    return `the row has more than ${MAX_ROW_CHARACTERS} characters; a quotation mark may not be closed.`;
  if (code === "INVALID_OPENING_QUOTE")
    return "a quotation mark stands within a cell; write it twice, and the whole cell in quotation marks.";
  return "a quotation mark stands where none can, or is not closed.";
}
